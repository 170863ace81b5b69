package mxkv;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.InputStream;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.spec.PKCS8EncodedKeySpec;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLException;
import javax.net.ssl.TrustManagerFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;

/**
 * Against servers, and skipped where none is named: MXKV_PORT; MXKV_CUT_PORT cuts a connection every 20 kB of replies. One lets in ann: MXKV_LOGIN_PORT, by TLS MXKV_TLS_PORT,
 * and MXKV_MUTUAL_TLS_PORT whoever shows a certificate. MXKV_CERTIFICATES is a folder: ca.pem signed all, ann.pem and ann.key are hers.
 */
@EnabledIfEnvironmentVariable(named = "MXKV_PORT", matches = "[0-9]+", disabledReason = "names the port of a server")
class MxkvClientTest {
  private static final Key BINARY = Key.of(new byte[] {'b', ' ', 0, '\r', '\n', (byte) 0xff});
  private MxkvClient client;

  private static int port(String name) {
    return Integer.parseInt(System.getenv(name));
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static List<String> keys(Iterable<Item> items) {
    List<String> found = new ArrayList<>();
    items.forEach(item -> found.add(item.key().toString()));
    return found;
  }

  @BeforeEach
  void connect() {
    client = MxkvClient.builder("127.0.0.1", port("MXKV_PORT")).timeouts(Duration.ofSeconds(20), Duration.ofSeconds(20)).build();
    client.flushAll();
  }

  @AfterEach
  void disconnect() {
    client.close();
  }

  @Test
  void singleKeys() {
    for (Key key : new Key[] {Key.of("k"), BINARY, Key.of(new byte[250])}) {
      assertTrue(client.get(key).isEmpty());
      assertFalse(client.replace(key, bytes("x"), StoreOptions.NONE));
      assertFalse(client.append(key, bytes("x")));
      assertEquals(MxkvClient.Swap.NOT_FOUND, client.compareAndSwap(key, bytes("x"), 1, StoreOptions.NONE));
      assertTrue(client.add(key, bytes("a"), StoreOptions.expiring(Duration.ofHours(1)).withFlags(7)));
      assertFalse(client.add(key, bytes("a"), StoreOptions.NONE));
      assertTrue(client.append(key, bytes("b")));
      Item item = client.get(key).orElseThrow();
      assertEquals("ab", item.text());
      assertEquals(7, item.flags());
      assertEquals(MxkvClient.Swap.STORED, client.compareAndSwap(key, bytes("41"), item.unique(), StoreOptions.NONE));
      assertEquals(MxkvClient.Swap.STALE, client.compareAndSwap(key, bytes("42"), item.unique(), StoreOptions.NONE));
      assertEquals(OptionalLong.of(43), client.increment(key, 2));
      assertEquals(OptionalLong.of(0), client.decrement(key, 100));
      assertTrue(client.touch(key, Duration.ofDays(60)));
      assertTrue(client.delete(key));
      assertFalse(client.delete(key));
      assertTrue(client.increment(key, 1).isEmpty());
    }
    assertThrows(MxkvException.TooLarge.class, () -> client.set(BINARY, new byte[2 << 20]));
    assertTrue(client.version().matches("\\d+\\.\\d+.*"));
  }

  @Test
  void ranges() {
    List<Key> keys = IntStream.range(0, 2500).mapToObj(n -> Key.of(String.format("user:%04d", n))).toList();
    keys.forEach(key -> client.set(key, bytes("7")));
    client.set("visits", "1");
    List<String> names = keys.stream().map(Key::toString).toList();
    List<String> backwards = new ArrayList<>(names);
    Collections.reverse(backwards);
    assertEquals(names, keys(client.scan(Range.prefix("user:"))));
    assertEquals(backwards, keys(client.scan(Range.between("user:", "v"), ScanOptions.ALL.reversed().withoutValues().pageItems(77))));
    assertEquals(names.subList(0, 1100), client.stream(Range.all(), ScanOptions.ALL.limit(1100).inSnapshots()).map(item -> item.key().toString()).toList());
    assertEquals(List.of(), keys(client.scan(Range.all(), ScanOptions.ALL.limit(0))));
    assertEquals(2501, client.getMany(List.of(keys.get(0), Key.of("absent"))).size() + 2500);
    Page page = client.page(Range.prefix("user:"), ScanOptions.ALL.limit(3), Optional.empty());
    page = client.page(Range.prefix("user:"), ScanOptions.ALL.limit(2), page.cursor());
    assertEquals(names.subList(3, 5), keys(page.items()));
    assertThrows(MxkvException.BadCursor.class, () -> client.page(Range.all(), ScanOptions.ALL, Optional.of("nonsense")));
    assertEquals(2500, client.count(Range.prefix("user:")));
    assertEquals(BigInteger.valueOf(17500), client.numbers(Range.prefix("user:")).total());
    assertEquals(List.of(2500L, 1L), IntStream.of(0).boxed().flatMap(n -> {
      List<Long> items = new ArrayList<>();
      client.tree(Range.all(), ":").forEach(branch -> items.add(branch.items()));
      return items.stream();
    }).toList());
    assertThrows(MxkvException.BadCursor.class, () -> client.page(Range.all(), ScanOptions.ALL, Optional.of("x\r\nflush_all")));
    assertThrows(MxkvException.Client.class, () -> client.tree(Range.all(), ":\r\nflush_all").iterator());
    assertThrows(MxkvException.RangeTooLarge.class, () -> client.touchRange(Range.all(), Duration.ofHours(1), OptionalLong.of(10)));
    assertEquals(2500, client.touchRange(Range.prefix("user:"), Duration.ofHours(1), OptionalLong.empty()));
    assertTrue(client.scan(Range.prefix("user:")).iterator().next().timeToLive().isPresent());
    assertEquals(2500, client.deleteRange(Range.prefix("user:")));
    assertEquals(1, client.deleteRangeAtOnce(Range.all()));
  }

  @Test
  void binaryKeysHaveTheirPlaceInRanges() {
    client.set(BINARY, bytes("x"));
    client.set("a", "x");
    assertEquals(List.of(Key.of("a"), BINARY), client.stream(Range.all(), ScanOptions.ALL).map(Item::key).toList());
    assertEquals(List.of(BINARY), client.stream(Range.between(BINARY, Key.of("")), ScanOptions.ALL.reversed()).map(Item::key).toList());
    assertArrayEquals(BINARY.bytes(), client.get(BINARY).orElseThrow().key().bytes());
  }

  @Test
  void batchesHappenWholeOrNotAtAll() {
    List<Outcome<Long>> made = new ArrayList<>();
    client.batch(batch -> {
      batch.set(Key.of("a"), bytes("5"));
      made.add(batch.increment(Key.of("a"), 2));
      made.add(batch.incrementFrom(BINARY, 50, 1));
      assertThrows(IllegalStateException.class, () -> made.get(0).value());
    });
    assertEquals(List.of(7L, 50L), made.stream().map(Outcome::value).toList());
    MxkvException.Answer failure = assertThrows(MxkvException.NotStored.class, () -> client.batch(batch -> {
      batch.set(Key.of("b"), bytes("1"));
      batch.add(Key.of("a"), bytes("1"), StoreOptions.NONE);
    }));
    assertEquals(1, failure.operation().getAsInt());
    assertThrows(IllegalArgumentException.class, () -> client.batch(batch -> {
      batch.set(Key.of("b"), bytes("1"));
      throw new IllegalArgumentException();
    }));
    assertTrue(client.get("b").isEmpty());
  }

  @Test
  void statisticsComeByGroup() {
    assertTrue(client.stats("").containsKey("uptime"));
    assertTrue(client.stats("settings").containsKey("maxbytes"));
    assertThrows(MxkvException.Client.class, () -> client.stats("a\r\nb"));
  }

  @Test
  void aPipelineExecutesEachOperationByItself() {
    client.set("there", "1");
    List<Outcome<?>> made = new ArrayList<>();
    client.pipeline(pipeline -> made.addAll(List.of(pipeline.set(Key.of("a"), bytes("1")), pipeline.increment(Key.of("there"), 4),
        pipeline.delete(Key.of("nowhere")), pipeline.set(BINARY, bytes("2")), pipeline.add(Key.of("a"), bytes("x"), StoreOptions.NONE),
        pipeline.increment(Key.of("nowhere"), 1), pipeline.compareAndSwap(Key.of("a"), bytes("x"), 1, StoreOptions.NONE),
        pipeline.get(Key.of("nowhere")))));
    assertEquals(List.of(true, 5L, false, true), made.subList(0, 4).stream().map(Outcome::value).toList());
    MxkvException.Answer again = assertThrows(MxkvException.NotStored.class, made.get(4)::value);
    assertEquals(4, again.operation().orElseThrow());
    assertThrows(MxkvException.NotFound.class, made.get(5)::value);
    assertInstanceOf(MxkvException.Stale.class, made.get(6).error().orElseThrow());
    assertEquals(Optional.empty(), made.get(7).value());
  }

  @Test
  void aRefusedOperationIsThrownAfterAllOthersWereExecuted() {
    client.set("text", "x");
    MxkvException.Client refused = assertThrows(MxkvException.Client.class, () -> client.pipeline(pipeline -> {
      pipeline.set(Key.of("a"), bytes("1"));
      pipeline.increment(Key.of("text"), 1);
      pipeline.set(Key.of("b"), bytes("2"));
    }));
    assertEquals(1, refused.operation().orElseThrow());
    assertEquals(List.of("a", "b", "text"), keys(client.scan(Range.all())));
  }

  @Test
  void aPipelineMayBeLargerThanAllBuffers() {
    byte[] large = new byte[500_000];
    List<Outcome<Optional<Item>>> found = new ArrayList<>();
    client.pipeline(pipeline -> {
      IntStream.range(0, 20).forEach(number -> pipeline.set(Key.of("large:" + number), large));
      IntStream.range(0, 100).forEach(number -> found.add(pipeline.get(Key.of("large:" + number % 20))));
      IntStream.range(0, 3000).forEach(number -> pipeline.set(Key.of("small:" + number), bytes("v")));
    });
    assertTrue(found.stream().allMatch(outcome -> outcome.value().orElseThrow().value().length == large.length));
    assertEquals(3000, client.count(Range.prefix("small:")));
  }

  @Test
  void severalServersShareTheKeys() {
    String name = ":" + port("MXKV_PORT");
    try (MxkvServers servers = new MxkvServers(List.of("127.0.0.1" + name, "mxkv://localhost" + name))) {
      List<Key> all = IntStream.range(0, 50).mapToObj(number -> Key.of("k" + number)).toList();
      all.forEach(key -> servers.clientOf(key).set(key, bytes("v")));
      assertEquals(2, all.stream().map(servers::clientOf).distinct().count());
      assertEquals(50, servers.getMany(all).size());
    }
    assertEquals(50, client.count(Range.prefix("k")));
  }

  @Test
  void aHookSeesEachRequestAndItsFailure() {
    List<String> seen = new ArrayList<>();
    Hook hook = (command, server) -> failure -> seen.add(command + " " + server + " " + (failure instanceof MxkvException.Client));
    String name = "127.0.0.1:" + port("MXKV_PORT");
    try (MxkvClient watched = MxkvClient.builder(name).hook(hook).build()) {
      watched.set("k", "x");
      assertThrows(MxkvException.Client.class, () -> watched.increment("k", 1));
    }
    assertEquals(List.of("ms " + name + " false", "ma " + name + " true"), seen);
  }

  @Test
  void manyThreadsShareItAndNoSumIsEverSeenHalfMoved() throws Exception {
    for (int account = 0; account < 10; ++account) {
      client.set("account:" + account, "1000");
    }
    ExecutorService threads = Executors.newFixedThreadPool(16);
    try {
      List<Future<?>> work = new ArrayList<>();
      for (int thread = 0; thread < 16; ++thread) {
        int seed = thread;
        work.add(threads.submit(() -> {
          for (int step = 0; step < 40; ++step) {
            Key from = Key.of("account:" + (seed + step) % 10);
            Key to = Key.of("account:" + (seed * 3 + step * 7 + 1) % 10);
            client.batch(batch -> {
              batch.decrement(from, 1);
              batch.increment(to, 1);
            });
            assertEquals(10000, client.stream(Range.prefix("account:"), ScanOptions.ALL.inSnapshots()).mapToInt(item -> Integer.parseInt(item.text())).sum());
          }
        }));
      }
      for (Future<?> one : work) {
        one.get();
      }
    } finally {
      threads.shutdown();
    }
  }

  @Test
  @EnabledIfEnvironmentVariable(named = "MXKV_CUT_PORT", matches = "[0-9]+")
  void rangesGoOnWhereConnectionsWereCutAndWritesAreNotSentAgain() {
    List<String> wanted = new ArrayList<>();
    for (int number = 0; number < 3000; ++number) {
      wanted.add(String.format("key:%05d", number));
      client.set(wanted.get(number), "x".repeat(50));
    }
    try (MxkvClient cut = MxkvClient.connect("127.0.0.1", port("MXKV_CUT_PORT"))) {
      for (int round = 0; round < 5; ++round) {
        assertEquals(wanted, keys(cut.scan(Range.prefix("key:"), ScanOptions.ALL.pageItems(100))));
      }
      assertThrows(MxkvException.Connection.class, () -> {
        for (int number = 0; number < 10_000; ++number) {
          cut.increment(Key.of("absent"), 1);
        }
      });
    }
    try (MxkvClient asked = MxkvClient.builder("127.0.0.1", port("MXKV_CUT_PORT")).retryWrites().build()) {
      for (int number = 0; number < 10_000; ++number) {
        asked.set("n", "1");
      }
    }
  }

  @Test
  @EnabledIfEnvironmentVariable(named = "MXKV_LOGIN_PORT", matches = "[0-9]+")
  void logsIn() {
    int guarded = port("MXKV_LOGIN_PORT");
    try (MxkvClient ann = MxkvClient.builder("127.0.0.1", guarded).login("ann", "secret word").build()) {
      ann.set("k", "v");
    }
    try (MxkvClient wrong = MxkvClient.builder("127.0.0.1", guarded).login("ann", "wrong").build();
        MxkvClient nobody = MxkvClient.connect("127.0.0.1", guarded)) {
      assertThrows(MxkvException.Forbidden.class, () -> wrong.get("k"));
      assertThrows(MxkvException.Forbidden.class, () -> nobody.get("k"));
    }
  }

  private static Path file(String name) {
    return Path.of(System.getenv("MXKV_CERTIFICATES"), name);
  }

  private static Certificate certificate(String name) throws Exception {
    try (InputStream text = Files.newInputStream(file(name))) {
      return CertificateFactory.getInstance("X.509").generateCertificate(text);
    }
  }

  private static KeyStore emptyStore() throws Exception {
    KeyStore made = KeyStore.getInstance(KeyStore.getDefaultType());
    made.load(null, null);
    return made;
  }

  /** Ann's certificate and key. */
  private static KeyStore identity() throws Exception {
    String text = Files.readString(file("ann.key")).replaceAll("-----.*-----", "");
    PrivateKey key = KeyFactory.getInstance("EC").generatePrivate(new PKCS8EncodedKeySpec(Base64.getMimeDecoder().decode(text)));
    KeyStore made = emptyStore();
    made.setKeyEntry("ann", key, new char[0], new Certificate[] {certificate("ann.pem")});
    return made;
  }

  /** Trusts the server's certificate, and shows what `shown` has. */
  private static SSLContext trusting(KeyStore shown) throws Exception {
    KeyStore trusted = emptyStore();
    trusted.setCertificateEntry("ca", certificate("ca.pem"));
    TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    trust.init(trusted);
    KeyManagerFactory keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
    keys.init(shown, new char[0]);
    SSLContext made = SSLContext.getInstance("TLS");
    made.init(keys.getKeyManagers(), trust.getTrustManagers(), null);
    return made;
  }

  /** Logs in by TLS, stores much and reads it again. */
  private static void ask(String name, SSLContext context, String password) {
    try (MxkvClient secure = MxkvClient.builder("127.0.0.1", port(name)).tls(context).login("ann", password).build()) {
      secure.set("k", "x".repeat(900_000));
      assertEquals(900_000, secure.get("k").orElseThrow().value().length);
      assertEquals(List.of("k"), keys(secure.scan(Range.all())));
    }
  }

  @Test
  @EnabledIfEnvironmentVariable(named = "MXKV_TLS_PORT", matches = "[0-9]+")
  void speaksTls() throws Exception {
    SSLContext trusting = trusting(emptyStore());
    ask("MXKV_TLS_PORT", trusting, "secret word");
    assertThrows(MxkvException.AuthenticationFailed.class, () -> ask("MXKV_TLS_PORT", trusting, "wrong"));
    MxkvException failure =
        assertThrows(MxkvException.Tls.class, () -> ask("MXKV_TLS_PORT", SSLContext.getDefault(), "secret word"));
    assertInstanceOf(SSLException.class, failure.getCause());
    assertThrows(MxkvException.Connection.class, () -> ask("MXKV_LOGIN_PORT", trusting, "secret word"));
  }

  @Test
  @EnabledIfEnvironmentVariable(named = "MXKV_MUTUAL_TLS_PORT", matches = "[0-9]+")
  void showsACertificate() throws Exception {
    SSLContext identified = trusting(identity());
    ask("MXKV_MUTUAL_TLS_PORT", identified, "secret word");
    assertThrows(MxkvException.Forbidden.class, () -> ask("MXKV_MUTUAL_TLS_PORT", identified, "wrong"));
    SSLContext nobody = trusting(emptyStore());
    assertThrows(MxkvException.Connection.class, () -> ask("MXKV_MUTUAL_TLS_PORT", nobody, "secret word"));
  }
}
