package mxkv;

import java.time.Duration;
import java.util.Map;
import java.util.Optional;

/**
 * A change of the item {@code key}, or of all items of {@code range}; the other one is null.
 *
 * @param value of a put, if the watch asked for values; null if it did not, or if the value is above the server's {@code watch.value_bytes}
 * @param size bytes of the value of a put with details, or of a value that is too large to be sent; else 0
 * @param flags of a put with values or details
 * @param unique of a put with details
 * @param timeToLive when the line was sent: of a put with details, and of touched items; empty for ever
 * @param delay flushed: so much later
 * @param stale a put: the item was marked as stale
 */
public record Change(Kind kind, Key key, Range range, byte[] value, long size, long flags, long unique, Optional<Duration> timeToLive,
    Duration delay, boolean stale) {
  /** What happened. The last three are of all items of a range. */
  public enum Kind {
    PUT, DELETED, EVICTED, EXPIRED, TOUCHED, RANGE_DELETED, FLUSHED, RANGE_TOUCHED;

    boolean ofRange() {
      return compareTo(RANGE_DELETED) >= 0;
    }
  }

  private static final Map<String, Kind> REASONS = Map.of("WG d", Kind.DELETED, "WG e", Kind.EVICTED, "WG x", Kind.EXPIRED,
      "WX d", Kind.RANGE_DELETED, "WX f", Kind.FLUSHED);

  /** The change that a line of a section stands for. */
  static Change of(Reply line) {
    long seconds = line.number("t", -1);
    Optional<Duration> ttl = seconds < 0 ? Optional.empty() : Optional.of(Duration.ofSeconds(seconds));
    return switch (line.code()) {
      case "WP", "WV" -> new Change(Kind.PUT, line.key(), null, line.value(), line.number("s", 0), line.number("f", 0),
          line.number("c", 0), ttl, Duration.ZERO, line.flag("X") != null);
      case "WG" -> ofItem(reason(line), line.key(), Optional.empty());
      case "WT" -> ofItem(Kind.TOUCHED, line.key(), ttl);
      case "WX" -> ofRange(reason(line), range(line), Optional.empty(), ttl.orElse(Duration.ZERO));
      case "WY" -> ofRange(Kind.RANGE_TOUCHED, range(line), ttl, Duration.ZERO);
      default -> throw line.unexpected();
    };
  }

  private static Change ofItem(Kind kind, Key key, Optional<Duration> ttl) {
    return new Change(kind, key, null, null, 0, 0, 0, ttl, Duration.ZERO, false);
  }

  private static Change ofRange(Kind kind, Range range, Optional<Duration> ttl, Duration delay) {
    return new Change(kind, null, range, null, 0, 0, 0, ttl, delay, false);
  }

  private static Kind reason(Reply line) {
    Kind kind = REASONS.get(line.code() + " " + line.flag("R"));
    if (kind == null) {
      throw line.unexpected();
    }
    return kind;
  }

  private static Range range(Reply line) {
    String stop = line.flag("H");
    Range range = Range.between(line.key(), stop == null ? Key.of("") : line.keyOf(stop));
    range = line.flag("o") == null ? range : range.excludingStart();
    return line.flag("i") == null ? range : range.includingStop();
  }
}
