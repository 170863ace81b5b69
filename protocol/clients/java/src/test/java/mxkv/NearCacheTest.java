package mxkv;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Near caches beside a server that answers in an order that a test chooses. */
class NearCacheTest {
  private static final String OLD = "VA 1 f0 c1 t-1\r\na";
  private static final String YOUNG = "VA 1 f0 c2 t-1\r\nb";

  private interface Action {
    void run() throws IOException;
  }

  private ScriptedServer server;
  private MxkvClient client;
  private NearCache near;

  private void begin(Duration maxStale, String... answers) throws IOException {
    server = new ScriptedServer(answers.length == 0 ? new String[] {ScriptedServer.FRESH} : answers);
    client = MxkvClient.builder("127.0.0.1", server.port()).timeouts(Duration.ofMinutes(1), Duration.ofMinutes(10)).retries(0).build();
    near = client.nearCache(Range.prefix("k"), 1 << 20, maxStale);
    ScriptedServer.waitFor("the cache is live", near::isLive);
  }

  @AfterEach
  void end() throws IOException {
    if (near != null) {
      near.close();
    }
    client.close();
    server.close();
  }

  private static String text(Optional<byte[]> value) {
    return value.map(bytes -> new String(bytes, StandardCharsets.UTF_8)).orElse("none");
  }

  private String get(String key, String reply) throws IOException {
    return get(key, reply, () -> { });
  }

  /** The value of a read whose request is answered so; {@code happens} runs while the read waits. */
  private String get(String key, String reply, Action happens) throws IOException {
    CompletableFuture<String> found = CompletableFuture.supplyAsync(() -> text(near.get(key)));
    server.waitForRequest();
    happens.run();
    server.answer(reply);
    return found.join();
  }

  @Test
  void aLineThatOvertakesTheReplyKeepsTheOldValueOut() throws IOException {
    begin(Duration.ofHours(1));
    for (String line : new String[] {"WP kk1 c2 f0 s1 t-1", "WG kk1 Rd", "WG kk1 Re", "WT kk1 t5", "WX kk Hl Rd", "WX k Rf", "WY kk Hl t5"}) {
      assertEquals("a", get("k1", OLD, () -> {
        server.tell(line);
        ScriptedServer.waitFor("taint by " + line, near::areAllTainted);
      }));
      assertEquals(0, near.entries(), line);
    }
    get("k1", YOUNG);
    assertEquals("b", text(near.get("k1")));
    assertEquals("b", text(near.get(Key.of("k1"))));
    assertEquals(1, near.entries());
  }

  @Test
  void linesOfOtherKeysDoNotTaint() throws IOException {
    begin(Duration.ofHours(1));
    get("k2", "EN");
    get("k1", "EN", () -> {
      server.tell("WP kk2 c2 f0 s1 t-1", "WX kk2 Hl Rd");
      ScriptedServer.waitFor("the other key is dropped", () -> near.entries() == 0);
    });
    assertEquals("none", text(near.get("k1")));
    assertEquals(1, near.entries());
  }

  @Test
  void anOwnWriteTaintsReadsAndDropsTheEntry() throws IOException {
    begin(Duration.ofHours(1));
    get("k1", OLD);
    assertThrows(IllegalStateException.class, () -> near.writing(() -> {
      assertEquals(0, near.entries());
      try {
        get("k1", OLD); // it may have been executed before the write
      } catch (IOException failure) {
        throw new AssertionError(failure);
      }
      assertEquals(1, near.entries());
      throw new IllegalStateException();
    }, Key.of("k1")));
    assertEquals(0, near.entries());
    get("k1", OLD, () -> near.writing(() -> true, Key.of("k1")));
    assertEquals(0, near.entries());
  }

  @Test
  void theLineOfThePutThatWasReadKeepsTheEntry() throws IOException {
    begin(Duration.ofHours(1));
    for (Map.Entry<String, Integer> one : List.of(Map.entry("WP kk1 c1 f0 s1 t-1", 1), Map.entry("WP kk1 c1 f0 s1 t-1 X", 0),
        Map.entry("WP kk1 c2 f0 s1 t-1", 0))) {
      if (near.entries() == 0) {
        get("k1", OLD);
      }
      get("k2", "EN");
      server.tell(one.getKey(), "WG kk2 Rd");
      ScriptedServer.waitFor("the section is applied", () -> !near.has("k2"));
      assertEquals(one.getValue(), near.entries(), one.getKey());
    }
  }

  @Test
  void aStaleItemIsNotKept() throws IOException {
    begin(Duration.ofHours(1));
    for (String flags : new String[] {"X W", "X Z"}) {
      assertEquals("a", get("k1", "VA 1 f0 c5 t-1 " + flags + "\r\na"));
      assertEquals(0, near.entries());
    }
  }

  @Test
  void nothingIsKeptUntilADelayedFlushHasHappened() throws IOException {
    begin(Duration.ofHours(1));
    get("k1", "EN");
    server.tell("WX k Rf t1000");
    ScriptedServer.waitFor("all are dropped", () -> near.entries() == 0);
    get("k1", "EN");
    assertEquals(0, near.entries());
  }

  @Test
  void afterOldAndLostAllIsDroppedAndThePositionIsNeverSentAgain() throws IOException {
    for (String refusal : new String[] {"EX Ow old G0123456789abcdef.9", "EX Ow lost"}) {
      begin(Duration.ofHours(1), ScriptedServer.FRESH, refusal, "HD Ow Gfedcba9876543210.7");
      get("k1", OLD);
      get("k2", "EN", () -> {
        server.say("WO Ow ends G0123456789abcdef.1");
        ScriptedServer.waitFor("it begins anew", () -> server.watchLines.size() == 3 && near.isLive());
      });
      assertEquals(0, near.entries());
      assertEquals(List.of(false, true, false), server.watchLines.stream().map(line -> line.contains(" G")).toList());
      end();
    }
  }

  @Test
  void aWatchThatIsTooSlowBeginsAnew() throws IOException {
    begin(Duration.ofHours(1));
    get("k1", "EN");
    server.say("WO Ow old G0123456789abcdef.9");
    ScriptedServer.waitFor("it begins anew", () -> server.watchLines.size() == 2 && near.isLive());
    assertEquals(0, near.entries());
    assertFalse(server.watchLines.get(1).contains(" G"));
  }

  @Test
  void aLostConnectionGoesOnBehindTheLastPositionAndEntriesStay() throws IOException {
    begin(Duration.ofHours(1));
    get("k1", OLD);
    server.cutAll();
    ScriptedServer.waitFor("it connects again", () -> server.watchLines.size() == 2);
    assertTrue(server.watchLines.get(1).endsWith(" G0123456789abcdef.1"));
    assertEquals("a", text(near.get("k1")));
  }

  @Test
  void withoutMarksReadsGoToTheServerAndEntriesStay() throws IOException {
    begin(Duration.ofMillis(100));
    server.answersMarks = false;
    ScriptedServer.waitFor("it is not live", () -> !near.isLive());
    get("k1", OLD);
    assertEquals("b", get("k1", YOUNG));
    assertEquals(1, near.entries());
  }

  @Test
  void aMarkCountsFromWhenItWasAskedFor() throws IOException {
    begin(Duration.ofHours(1));
    near.take(new Changes(List.of(), Optional.empty()), 5L);
    assertEquals(Duration.ofHours(1).toNanos() + 5, near.liveUntilNs());
  }

  @Test
  void keysThatAreNotAsciiHaveEntriesOfTheirOwn() throws IOException {
    begin(Duration.ofHours(1));
    get("k\u00e9", OLD);
    assertEquals("a", text(near.get("k\u00e9")));
    CompletableFuture<String> other = CompletableFuture.supplyAsync(() -> text(near.get(Key.of(new byte[] {'k', (byte) 0xe9}))));
    server.answer("EN");
    assertEquals("none", other.join());
    assertEquals("a", text(near.get("k\u00e9")));
  }

  @Test
  void aServerThatRefusesTheWatchFailsTheBeginning() throws IOException {
    for (Map.Entry<String, Class<? extends MxkvException>> one : List.<Map.Entry<String, Class<? extends MxkvException>>>of(
        Map.entry("CLIENT_ERROR forbidden", MxkvException.Forbidden.class), Map.entry("ERROR", MxkvException.Client.class),
        Map.entry("SERVER_ERROR mw does not work in a cluster", MxkvException.Server.class))) {
      server = new ScriptedServer(one.getKey());
      client = MxkvClient.connect("127.0.0.1", server.port());
      assertThrows(one.getValue(), () -> client.nearCache(Range.all(), 1, Duration.ofSeconds(1)));
      assertThrows(one.getValue(), () -> client.watch(Range.all(), WatchOptions.KEYS));
      assertThrows(MxkvException.Client.class, () -> client.nearCache(Range.all(), 1, Duration.ZERO));
      end();
    }
  }

  @Test
  void aSilentWatchIsAskedForAMarkAndGivenUpWithoutOne() throws IOException {
    server = new ScriptedServer(ScriptedServer.FRESH);
    client = MxkvClient.builder("127.0.0.1", server.port()).timeouts(Duration.ofMinutes(1), Duration.ofMillis(20)).build();
    Watch watch = client.watch(Range.prefix("k"), WatchOptions.KEYS);
    CompletableFuture<Changes> next = CompletableFuture.supplyAsync(watch::next);
    ScriptedServer.sleep(100); // several marks
    server.answersMarks = false;
    ScriptedServer.waitFor("the dead connection is given up", () -> server.watchLines.size() > 1);
    assertTrue(server.watchLines.get(1).endsWith(" G0123456789abcdef.1"));
    watch.close();
    assertEquals(null, next.join());
  }
}
