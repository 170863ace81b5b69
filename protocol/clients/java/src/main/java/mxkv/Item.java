package mxkv;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Optional;

/** A key with what is stored under it. A range that tells keys only leaves {@code value} null; only ranges tell {@code timeToLive}. */
public record Item(Key key, byte[] value, long flags, long unique, Optional<Duration> timeToLive) {
  /** The value read as UTF-8. */
  public String text() {
    return new String(value, StandardCharsets.UTF_8);
  }

  static Item of(Reply reply, Key key) {
    long seconds = reply.number("t", -1);
    Optional<Duration> left = seconds < 0 ? Optional.empty() : Optional.of(Duration.ofSeconds(seconds));
    return new Item(key == null ? reply.key() : key, reply.value(), reply.number("f", 0), reply.number("c", 0), left);
  }
}
