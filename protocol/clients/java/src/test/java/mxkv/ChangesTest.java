package mxkv;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** The lines of watches, without a server. */
class ChangesTest {
  private static final String SECTIONS = "HD Ow\r\nWS Ow\r\nWB 2\r\nWV 6 kuser:1 c17 f5 s6 t-1\r\n\r\nWE O\r\nWP ka2V5IA== b c18 t30 X\r\nWE Ow\r\n"
      + "WS Ow\r\nWG ka Rd\r\nWG ka2V5IA== b Re\r\nWG kb Rx\r\nWT ka t9\r\nWT kb t-1\r\nWX ka Hc o i Rd\r\nWX k Rf t2\r\n"
      + "WX kYSA= HYyA= b Rf\r\nWY kuser: Huser; t5\r\nWP klarge s70000\r\nWE Ow G9c41e07a55d2b813.1042 m7\r\nWO Ow ends G1.2\r\n";

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.ISO_8859_1);
  }

  private static InputStream input(String text) {
    return new ByteArrayInputStream(bytes(text));
  }

  /** Gives one byte at a time. */
  private static InputStream slowly(String text) {
    return new ByteArrayInputStream(bytes(text)) {
      @Override
      public synchronized int read(byte[] into, int offset, int length) {
        return super.read(into, offset, Math.min(length, 1));
      }
    };
  }

  private static Change item(Change.Kind kind, String key, int seconds) {
    Optional<Duration> ttl = seconds < 0 ? Optional.empty() : Optional.of(Duration.ofSeconds(seconds));
    return new Change(kind, Key.of(key), null, null, 0, 0, 0, ttl, Duration.ZERO, false);
  }

  private static Change range(Change.Kind kind, Range where, Optional<Duration> ttl, int delay) {
    return new Change(kind, null, where, null, 0, 0, 0, ttl, Duration.ofSeconds(delay), false);
  }

  @Test
  void sectionsReadTheSameHoweverTheyAreCut() throws IOException {
    for (InputStream in : List.of(input(SECTIONS), slowly(SECTIONS))) {
      Changes.Section first = Changes.read(in);
      assertEquals(Optional.empty(), first.changes().position());
      Change put = first.changes().changes().get(0);
      assertArrayEquals(bytes("\r\nWE O"), put.value());
      assertEquals(List.of(Change.Kind.PUT, Key.of("user:1"), 6L, 5L, 17L, Optional.empty(), false),
          List.of(put.kind(), put.key(), put.size(), put.flags(), put.unique(), put.timeToLive(), put.stale()));
      assertEquals(new Change(Change.Kind.PUT, Key.of("key "), null, null, 0, 0, 18, Optional.of(Duration.ofSeconds(30)), Duration.ZERO, true),
          first.changes().changes().get(1));
      assertEquals(2, first.changes().changes().size());
      Changes.Section second = Changes.read(in);
      assertEquals(List.of(item(Change.Kind.DELETED, "a", -1), item(Change.Kind.EVICTED, "key ", -1), item(Change.Kind.EXPIRED, "b", -1),
          item(Change.Kind.TOUCHED, "a", 9), item(Change.Kind.TOUCHED, "b", -1),
          range(Change.Kind.RANGE_DELETED, Range.between("a", "c").excludingStart().includingStop(), Optional.empty(), 0),
          range(Change.Kind.FLUSHED, Range.all(), Optional.empty(), 2), range(Change.Kind.FLUSHED, Range.between("a ", "c "), Optional.empty(), 0),
          range(Change.Kind.RANGE_TOUCHED, Range.between("user:", "user;"), Optional.of(Duration.ofSeconds(5)), 0),
          new Change(Change.Kind.PUT, Key.of("large"), null, null, 70000, 0, 0, Optional.empty(), Duration.ZERO, false)),
          second.changes().changes());
      assertEquals(Optional.of("9c41e07a55d2b813.1042"), second.changes().position());
      assertEquals("7", second.mark());
      assertThrows(MxkvException.Connection.class, () -> Changes.read(in)); // the server ends
    }
  }

  @Test
  void theEndsOfAWatchHaveTypes() {
    Map.of("WO Ow old G1.2", MxkvException.TooOld.class, "WO Ow lost", MxkvException.HistoryLost.class, "ERROR", MxkvException.Client.class)
        .forEach((line, kind) -> assertThrows(kind, () -> Changes.read(input(line + "\r\n"))));
  }

  @Test
  void whatNoServerPushesIsRefused() {
    for (String wrong : new String[] {"WP ka", "WE Ow G1.1", "WO Ow", "WO Ow why", "WO", "WS Ow\r\nHD", "WS Ow\r\nWS Ow", "WS Ow\r\nWP", "WS Ow\r\nWQ ka",
        "WS Ow\r\nWG ka", "WS Ow\r\nWG ka Rq", "WS Ow\r\nWG k% b Rd", "WS Ow\r\nWX ka Re", "WS Ow\r\nWX kYQ== H% b Rd", "WS Ow\r\nWP ka cx",
        "WS Ow\r\nWT ka tx", "WS Ow\r\nWV x ka", "WS Ow\r\nWV 1 ka\r\nxyz", "WS Ow\r\nWE Ow G", "WS Ow\r\nWV", "x".repeat(1 << 17)}) {
      assertThrows(MxkvException.Protocol.class, () -> Changes.read(input(wrong + "\r\n")), wrong);
    }
  }

  @Test
  void damagedSectionsAreReadOrHaveAType() {
    Random chance = new Random(11);
    byte[] marks = bytes("\r\n 0A9WSEPVXGbkHRt-");
    for (int round = 0; round < 3000; ++round) {
      byte[] damaged = bytes(SECTIONS);
      for (int times = chance.nextInt(4); times >= 0; --times) {
        damaged[chance.nextInt(damaged.length)] = marks[chance.nextInt(marks.length)];
      }
      InputStream in = new ByteArrayInputStream(damaged);
      try {
        while (true) {
          Changes.read(in);
        }
      } catch (MxkvException | IOException told) {
        // as it should be
      }
    }
  }

  @Test
  void aWatchBeginsByALine() {
    WatchOptions keys = WatchOptions.KEYS;
    assertEquals("mw user: p Ow\r\n", new String(keys.line(Range.prefix("user:")), StandardCharsets.ISO_8859_1));
    assertEquals("mw a Hc Ow v f G1.2\r\n", new String(keys.withValues().from("1.2").line(Range.between("a", "c")), StandardCharsets.ISO_8859_1));
    assertEquals("mw - Ow v c f s t Mpt\r\n", new String(keys.withValues().withDetails().kinds(Change.Kind.TOUCHED, Change.Kind.PUT)
        .line(Range.all()), StandardCharsets.ISO_8859_1));
    for (String position : new String[] {"", "1.2\r\nflush_all"}) {
      assertThrows(MxkvException.Client.class, () -> keys.from(position));
    }
    assertThrows(MxkvException.Client.class, () -> keys.kinds(Change.Kind.FLUSHED));
  }

  @Test
  void aRangeKnowsItsKeys() {
    List<List<Object>> cases = new ArrayList<>();
    cases.add(List.of(Range.between("b", "d"), "bc", "ad"));
    cases.add(List.of(Range.between("b", "d").excludingStart().includingStop(), "cd", "be"));
    cases.add(List.of(Range.all(), "a~", ""));
    cases.add(List.of(Range.between("", "b"), "a", "bc"));
    cases.add(List.of(Range.prefix("b"), "b", "ac"));
    for (List<Object> one : cases) {
      Range where = (Range) one.get(0);
      ((String) one.get(1)).chars().forEach(key -> assertTrue(where.contains(Key.of(Character.toString(key)))));
      ((String) one.get(2)).chars().forEach(key -> assertFalse(where.contains(Key.of(Character.toString(key)))));
    }
  }
}
