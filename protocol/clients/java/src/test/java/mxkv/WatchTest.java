package mxkv;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;

/** Watches and near caches against the server of MXKV_PORT, which they empty. */
@EnabledIfEnvironmentVariable(named = "MXKV_PORT", matches = "[0-9]+", disabledReason = "names the port of a server")
class WatchTest {
  private static final Duration LONG = Duration.ofMinutes(1);
  private final List<AutoCloseable> opened = new ArrayList<>();
  private final ExecutorService threads = Executors.newCachedThreadPool();
  private MxkvClient client;
  private WatchProxy proxy;

  private <T extends AutoCloseable> T open(T one) {
    opened.add(one);
    return one;
  }

  private MxkvClient connect(int port) {
    return open(MxkvClient.builder("127.0.0.1", port).timeouts(LONG, LONG).build());
  }

  private static int port() {
    return Integer.parseInt(System.getenv("MXKV_PORT"));
  }

  @BeforeEach
  void begin() {
    client = connect(port());
    client.flushAll();
  }

  @AfterEach
  void end() throws Exception {
    Collections.reverse(opened);
    for (AutoCloseable one : opened) {
      one.close();
    }
    threads.shutdownNow();
  }

  private CompletableFuture<Void> start(Runnable work) {
    return CompletableFuture.runAsync(work, threads);
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static String text(byte[] value) {
    return value == null ? "none" : new String(value, StandardCharsets.UTF_8);
  }

  private static List<Change> heard(Watch watch, int count) {
    List<Change> found = new ArrayList<>();
    for (Changes changes : watch) {
      found.addAll(changes.changes());
      if (found.size() >= count) {
        return found;
      }
    }
    throw new AssertionError("the watch ended");
  }

  @Test
  void eachKindOfChangeIsTold() {
    Watch watch = open(client.watch(Range.prefix("k"), WatchOptions.KEYS.withValues().withDetails()));
    client.set(Key.of("k1"), bytes("a"), StoreOptions.NONE.withFlags(3));
    client.touch("k1", Duration.ofHours(1));
    client.delete("k1");
    client.set("k \0", "b");
    client.touchRange(Range.prefix("k"), Duration.ZERO, OptionalLong.empty());
    client.deleteRangeAtOnce(Range.between("k", "k2"));
    client.set("other", "x");
    client.flushAll();
    List<String> ofOne = new ArrayList<>();
    List<String> others = new ArrayList<>();
    for (Change change : heard(watch, 7)) {
      boolean lives = change.timeToLive().map(left -> left.toMinutes() > 50).orElse(false);
      String all = change.kind() + " " + change.key() + " " + text(change.value()) + " " + change.flags() + " " + change.size() + " " + lives
          + " " + Range.between("k", "l").equals(change.range());
      (Key.of("k1").equals(change.key()) ? ofOne : others).add(all);
    }
    assertEquals(List.of("PUT k1 a 3 1 false false", "TOUCHED k1 none 0 0 true false", "DELETED k1 none 0 0 false false"), ofOne);
    assertEquals(List.of("PUT k \0 b 0 1 false false", "RANGE_TOUCHED null none 0 0 false true", "RANGE_DELETED null none 0 0 false false",
        "FLUSHED null none 0 0 false true"), others);
  }

  @Test
  void aWatchGoesOnBehindAPosition() {
    Watch first = open(client.watch(Range.prefix("k"), WatchOptions.KEYS.kinds(Change.Kind.PUT)));
    client.set("k1", "x");
    heard(first, 1);
    first.close();
    assertNull(first.next());
    client.set("k2", "x");
    List<Change> changes = heard(open(client.watch(Range.prefix("k"), WatchOptions.KEYS.from(first.position()))), 1);
    assertEquals(Key.of("k2"), changes.get(changes.size() - 1).key());
    String tag = first.position().split("\\.")[0];
    assertThrows(MxkvException.TooOld.class, () -> client.watch(Range.all(), WatchOptions.KEYS.from(tag + ".0")));
    assertThrows(MxkvException.HistoryLost.class, () -> client.watch(Range.all(), WatchOptions.KEYS.from("0123456789abcdef.1")));
    assertThrows(MxkvException.Client.class, () -> client.watch(Range.all(), WatchOptions.KEYS.from("x")));
    assertThrows(MxkvException.Client.class, () -> client.watch(Range.all(), WatchOptions.KEYS.kinds(Change.Kind.EXPIRED)));
  }

  @Test
  void anotherThreadMayCloseAWatch() {
    Watch watch = open(client.watch(Range.prefix("k"), WatchOptions.KEYS));
    CompletableFuture<Changes> next = CompletableFuture.supplyAsync(watch::next, threads);
    watch.close();
    assertNull(next.join());
  }

  private static void fold(Map<String, String> items, Change change) {
    switch (change.kind()) {
      case PUT -> items.put(change.key().toString(), text(change.value()));
      case DELETED, EVICTED -> items.remove(change.key().toString());
      case RANGE_DELETED, FLUSHED -> items.keySet().removeIf(key -> change.range().contains(Key.of(key)));
      default -> { }
    }
  }

  private void write(int seed) {
    ThreadLocalRandom chance = ThreadLocalRandom.current();
    for (int turn = 0; turn < 2500; ++turn) {
      String key = "key:" + (10 + chance.nextInt(40));
      int what = chance.nextInt(20);
      if (what < 13) {
        client.set(key, (seed + "-" + turn).repeat(1 + what));
      } else if (what < 16) {
        client.delete(key);
      } else if (what < 18) {
        client.batch(batch -> {
          batch.set(Key.of(key), bytes("b"), StoreOptions.NONE);
          batch.set(Key.of("key:17"), bytes(key), StoreOptions.NONE);
        });
      } else if (what < 19) {
        client.deleteRangeAtOnce(Range.prefix(key.substring(0, key.length() - 1)));
      } else {
        client.touch(key, Duration.ZERO);
      }
    }
  }

  @Test
  void whatWatchesHearEqualsAScanAlthoughTheirConnectionsAreCut() throws IOException {
    proxy = open(new WatchProxy(port(), 20_000, 0));
    MxkvClient cut = connect(proxy.port());
    List<CompletableFuture<Map<String, String>>> maps = IntStream.range(0, 2).mapToObj(number -> {
      Watch watch = open(cut.watch(Range.prefix("key:"), WatchOptions.KEYS.withValues()));
      return CompletableFuture.supplyAsync(() -> {
        Map<String, String> items = new TreeMap<>();
        for (Changes changes : watch) {
          changes.forEach(change -> fold(items, change));
          if (items.containsKey("key:end") && changes.position().isPresent()) {
            break;
          }
        }
        return items;
      }, threads);
    }).toList();
    CompletableFuture.allOf(IntStream.range(0, 3).mapToObj(seed -> start(() -> write(seed))).toArray(CompletableFuture<?>[]::new)).join();
    client.set("key:end", "x");
    Map<String, String> held = new TreeMap<>();
    client.scan(Range.prefix("key:")).forEach(item -> held.put(item.key().toString(), item.text()));
    maps.forEach(items -> assertEquals(held, items.join()));
    assertTrue(proxy.cuts.get() >= 5, proxy.cuts + " cuts");
  }

  private MxkvClient nearClient;

  private NearCache nearCache(long maxBytes, Duration maxStale, int cutEvery, int delayMs) throws IOException {
    proxy = open(new WatchProxy(port(), cutEvery, delayMs));
    nearClient = connect(proxy.port());
    NearCache near = open(nearClient.nearCache(Range.prefix("user:"), maxBytes, maxStale));
    ScriptedServer.waitFor("the cache is live", near::isLive);
    return near;
  }

  private static String get(NearCache near, String key) {
    return text(near.get(key).orElse(null));
  }

  @Test
  void hitsAskNobodyAndChangesAreFollowed() throws IOException {
    NearCache near = nearCache(1 << 20, LONG, 0, 0);
    client.set("user:1", "a");
    ScriptedServer.waitFor("both are kept",
        () -> get(near, "user:1").equals("a") && get(near, "user:none").equals("none") && near.entries() == 2);
    int before = proxy.reads.get();
    for (int turn = 0; turn < 100; ++turn) {
      assertEquals("a none", get(near, "user:1") + " " + get(near, "user:none"));
    }
    assertEquals(before, proxy.reads.get());
    client.set("user:1", "b");
    client.set("user:none", "c");
    ScriptedServer.waitFor("the changed keys are dropped", () -> near.entries() == 0);
    assertEquals("b c", get(near, "user:1") + " " + get(near, "user:none"));
    client.deleteRangeAtOnce(Range.prefix("user:"));
    ScriptedServer.waitFor("the deleted keys are dropped", () -> near.entries() == 0);
    assertEquals("none", get(near, "user:1"));
    client.flushAll();
    ScriptedServer.waitFor("the flushed keys are dropped", () -> near.entries() == 0);
    for (String key : new String[] {"", "other", "user:" + "x".repeat(250)}) {
      assertThrows(MxkvException.Client.class, () -> near.get(key));
      assertThrows(MxkvException.Client.class, () -> near.set(key, "x"));
    }
  }

  @Test
  void timesToLiveEndEntries() throws IOException {
    NearCache near = nearCache(1 << 20, LONG, 0, 0);
    client.set("user:1", "a");
    ScriptedServer.waitFor("it is kept", () -> get(near, "user:1").equals("a") && near.entries() == 1);
    client.touch("user:1", Duration.ofSeconds(1));
    ScriptedServer.waitFor("it has expired", () -> get(near, "user:1").equals("none"));
    client.set(Key.of("user:2"), bytes("a"), StoreOptions.expiring(Duration.ofSeconds(1)));
    ScriptedServer.waitFor("it has expired", () -> get(near, "user:2").equals("none"));
  }

  @Test
  void ownWritesAreReadBack() throws IOException {
    NearCache near = nearCache(1 << 20, Duration.ofSeconds(2), 0, 20);
    CompletableFuture.allOf(IntStream.range(0, 4).mapToObj(number -> start(() -> {
      String key = "user:" + number;
      for (int turn = 0; turn < 200; ++turn) {
        near.set(key, Integer.toString(turn));
        assertEquals(Integer.toString(turn), get(near, key));
        assertEquals(Integer.toString(turn), get(near, key));
        near.writing(() -> nearClient.increment(key, 1), Key.of(key));
        assertEquals(Integer.toString(turn + 1), get(near, key));
        if (turn % 10 == 0) {
          near.delete(key);
          assertEquals("none", get(near, key));
        }
      }
    })).toArray(CompletableFuture<?>[]::new)).join();
  }

  @Test
  void theLeastRecentlyUsedEntriesGoWhenTheBytesAreUsedUp() throws IOException {
    for (int number = 100; number < 200; ++number) {
      client.set("user:" + number, "x".repeat(1000));
    }
    client.set("user:large", "x".repeat(20_000));
    long most = 10 * (NearCache.ENTRY_BYTES + 8 + 1000);
    NearCache near = nearCache(most, LONG, 0, 0);
    for (int number = 100; number < 200; ++number) {
      for (String key : new String[] {"user:100", "user:" + number, "user:large"}) {
        near.get(key);
      }
      assertTrue(near.bytes() <= most);
    }
    assertEquals(10, near.entries());
    assertTrue(near.has("user:100"));
    assertFalse(near.has("user:large"));
    assertFalse(near.has("user:150"));
  }

  /** Judges reads by when values were written. */
  private final class Ledger {
    static final int KEYS = 1000;
    final long boundNs;
    final List<List<Long>> answered = new ArrayList<>(); // when value `n` of a key was answered, at the latest
    final AtomicInteger stale = new AtomicInteger();
    final AtomicInteger reads = new AtomicInteger();
    volatile int newest;
    volatile boolean done;

    Ledger(Duration bound) {
      boundNs = bound.toNanos();
      for (int number = 0; number < KEYS; ++number) {
        answered.add(Collections.synchronizedList(new ArrayList<>()));
        write(number);
      }
    }

    void write(int number) {
      newest = number;
      client.set("user:" + number, Integer.toString(answered.get(number).size()));
      answered.get(number).add(System.nanoTime());
    }

    void writeOn() {
      while (!done) {
        write(ThreadLocalRandom.current().nextInt(KEYS));
        ScriptedServer.sleep(ThreadLocalRandom.current().nextInt(3));
      }
    }

    void readOn(NearCache near) {
      ThreadLocalRandom chance = ThreadLocalRandom.current();
      try {
        while (!done) {
          int number = chance.nextBoolean() ? newest : chance.nextInt(KEYS);
          long begin = System.nanoTime();
          int value = Integer.parseInt(get(near, "user:" + number));
          reads.incrementAndGet();
          List<Long> times = answered.get(number);
          if (value + 1 < times.size() && times.get(value + 1) - begin < 0) {
            stale.incrementAndGet();
            long age = begin - times.get(value + 1);
            assertTrue(age <= boundNs, "user:" + number + " is stale by " + age + " ns");
          }
        }
      } finally {
        done = true;
      }
    }
  }

  @Test
  void noReadIsStalerThanTheBoundAlthoughLinesAreHeldBack() throws IOException {
    Duration bound = Duration.ofMillis(300);
    Ledger ledger = new Ledger(bound);
    NearCache near = nearCache(1 << 22, bound, 30_000, 900);
    List<CompletableFuture<Void>> all = new ArrayList<>(List.of(start(ledger::writeOn)));
    IntStream.range(0, 4).forEach(number -> all.add(start(() -> ledger.readOn(near))));
    for (long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(20); System.nanoTime() < end && !ledger.done; ScriptedServer.sleep(10)) {
      if (ledger.stale.get() > 2000 && proxy.cuts.get() > 2 && proxy.delays.get() > 3 && ledger.reads.get() > proxy.reads.get() + 10_000) {
        break;
      }
    }
    ledger.done = true;
    CompletableFuture.allOf(all.toArray(CompletableFuture<?>[]::new)).join();
    assertTrue(ledger.stale.get() > 0 && ledger.reads.get() > proxy.reads.get(), ledger.stale + " stale reads of " + ledger.reads);
  }
}
