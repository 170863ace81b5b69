package mxkv;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.OptionalLong;

/** Requests on single keys, as lines. */
final class Lines {
  static final byte[] END = {'\r', '\n'};
  private static final Duration LONGEST_RELATIVE = Duration.ofDays(30);

  private Lines() {}

  static byte[] of(String line) {
    if (line.indexOf('\r') >= 0 || line.indexOf('\n') >= 0) {
      throw new MxkvException.Client("an argument must not have line ends");
    }
    return (line + "\r\n").getBytes(StandardCharsets.ISO_8859_1);
  }

  static byte[] joined(byte[]... parts) {
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    for (byte[] part : parts) {
      all.writeBytes(part);
    }
    return all.toByteArray();
  }

  static byte[] get(Key key) {
    return of("mg " + key.words("") + " v f c");
  }

  static byte[] store(String mode, Key key, byte[] value, StoreOptions how, OptionalLong unique) {
    String line = "ms " + key.words(" " + value.length) + mode;
    line += how.flags() == 0 ? "" : " F" + how.flags();
    line += how.expires().isZero() ? "" : " T" + exptime(how.expires());
    line += unique.isEmpty() ? "" : " C" + Long.toUnsignedString(unique.getAsLong());
    return joined(of(line), value, END);
  }

  static byte[] delete(Key key, OptionalLong unique) {
    return of("md " + key.words("") + (unique.isEmpty() ? "" : " C" + Long.toUnsignedString(unique.getAsLong())));
  }

  static byte[] touch(Key key, Duration expires) {
    return of("mg " + key.words("") + " T" + exptime(expires));
  }

  static byte[] count(Key key, String mode, long delta) {
    return of("ma " + key.words("") + mode + " v D" + Long.toUnsignedString(delta));
  }

  /** A time to live as the protocol says it: 0 for ever, a part of a second is a whole one, unix time beyond 30 days. */
  static long exptime(Duration timeToLive) {
    long seconds = timeToLive.plusNanos(999_999_999).getSeconds();
    return timeToLive.compareTo(LONGEST_RELATIVE) > 0 ? Instant.now().getEpochSecond() + seconds : seconds;
  }
}
