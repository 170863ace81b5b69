package mxkv;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.ByteArrayInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Replies without a server: cut anywhere, and none at all. */
class ReplyTest {
  private static final byte[] REPLIES = bytes("VA 9 kuser:1 f5 c17 t-1\r\n\r\nEN A1\r\n\r\nHD ka2V5IA== b t30\r\nEN A2 GabcD\r\n");

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.ISO_8859_1);
  }

  /** Gives one byte at a time. */
  private static InputStream slowly(byte[] data) {
    return new ByteArrayInputStream(data) {
      @Override
      public synchronized int read(byte[] into, int offset, int length) {
        return super.read(into, offset, Math.min(length, 1));
      }
    };
  }

  @Test
  void readsTheSameHoweverItIsCut() throws IOException {
    for (InputStream in : new InputStream[] {new ByteArrayInputStream(REPLIES), slowly(REPLIES)}) {
      Item first = Item.of(Reply.read(in), null);
      assertEquals("user:1", first.key().toString());
      assertEquals("\r\nEN A1\r\n", first.text());
      assertEquals(17, first.unique());
      assertEquals(Key.of("key "), Item.of(Reply.read(in), null).key());
      assertEquals("abcD", Reply.read(in).expecting("EN").flag("G"));
      assertThrows(EOFException.class, () -> Reply.read(in));
    }
  }

  @Test
  void whatEndsTooEarlyIsALostConnection() {
    for (int size = 0; size < REPLIES.length; ++size) {
      InputStream in = slowly(Arrays.copyOf(REPLIES, size));
      assertThrows(EOFException.class, () -> {
        for (int number = 0; number < 3; ++number) {
          Reply.read(in);
        }
      });
    }
  }

  @Test
  void errorsHaveTypes() {
    Map<String, Class<?>> kinds = Map.of("CLIENT_ERROR bad cursor", MxkvException.BadCursor.class, "ERROR", MxkvException.Client.class,
        "CLIENT_ERROR too many keys in the range", MxkvException.RangeTooLarge.class, "SERVER_ERROR x", MxkvException.Server.class,
        "CLIENT_ERROR unauthenticated", MxkvException.Forbidden.class, "CLIENT_ERROR x", MxkvException.Client.class,
        "SERVER_ERROR out of memory storing object", MxkvException.OutOfMemory.class,
        "SERVER_ERROR object too large for cache", MxkvException.TooLarge.class);
    kinds.forEach((line, kind) -> assertEquals(kind,
        assertThrows(MxkvException.class, () -> Reply.read(new ByteArrayInputStream(bytes(line + "\r\n")))).getClass()));
    assertInstanceOf(MxkvException.Stale.class, MxkvException.ofBatch(3, "EX"));
    assertEquals(3, MxkvException.ofBatch(3, "CLIENT_ERROR x").operation().getAsInt());
  }

  @Test
  void whatNoServerSendsIsNoReply() {
    for (String wrong : new String[] {"VA x ka\r\n", "VA\r\n", "VA 9999999999 ka\r\n", "VA 1 ka\r\nxyz\r\n", "HD\n", "x".repeat(1 << 17)}) {
      assertThrows(MxkvException.Protocol.class, () -> Reply.read(new ByteArrayInputStream(bytes(wrong))), wrong);
    }
  }

  @Test
  void damagedRepliesAreToldByTypeOrReadAndNeverAnythingElse() {
    Random chance = new Random(11);
    byte[] marks = bytes("\r\n 0A9VAHDENkb~-");
    byte[] batch = bytes("VA 2 f0 c9\r\n15\r\nEX 2 NF\r\n");
    for (int round = 0; round < 4000; ++round) {
      byte[] damaged = (chance.nextBoolean() ? REPLIES : batch).clone();
      for (int times = chance.nextInt(4); times >= 0; --times) {
        damaged[chance.nextInt(damaged.length)] = marks[chance.nextInt(marks.length)];
      }
      InputStream in = new ByteArrayInputStream(damaged);
      try {
        while (true) {
          Reply reply = Reply.read(in);
          switch (chance.nextInt(3)) {
            case 0 -> Item.of(reply, null);
            case 1 -> reply.count();
            default -> reply.number("A", 0);
          }
        }
      } catch (MxkvException | IOException told) {
        // as it should be
      }
    }
  }

  @Test
  void rangesAsLinesSayThem() {
    assertEquals("-", Range.all().words(false));
    assertEquals("user: p r", Range.prefix("user:").words(true));
    assertEquals("YSBi p b", Range.prefix("a b").words(false));
    assertEquals("a Hc", Range.between("a", "c").words(false));
    assertEquals("c o Ha i r", Range.between("a", "c").words(true));
    assertEquals("a o Hc i", Range.between("a", "c").excludingStart().includingStop().words(false));
    assertEquals("c Ha r", Range.between("a", "c").excludingStart().includingStop().words(true));
    assertEquals("LQ== b", Range.between("-", "").words(false));
    assertEquals("AA== b HYyA=", Range.between("", "c ").words(false));
  }

  @Test
  void keysThatNoLineTakesAreRefused() {
    for (Key key : new Key[] {Key.of(""), Key.of("k".repeat(251)), Key.of(" ".repeat(251))}) {
      assertThrows(MxkvException.Client.class, () -> Lines.get(key));
    }
    assertArrayEquals(bytes("mg IA== b v f c\r\n"), bytes(new String(Lines.get(Key.of(" ")), StandardCharsets.ISO_8859_1).replace("IA==  b", "IA== b")));
  }
}
