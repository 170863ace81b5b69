package mxkv;

import java.util.Arrays;
import java.util.Objects;

/** Keys in the order of their bytes: all that begin alike, or those from one to another. */
public final class Range {
  private static final Key NONE = Key.of("");
  private static final Key LEAST = Key.of(new byte[1]);
  private static final Key GREATEST = greatest();
  private final Key prefix;
  private final Key start;
  private final Key stop;
  private final boolean excludesStart;
  private final boolean includesStop;

  private Range(Key prefix, Key start, Key stop, boolean excludesStart, boolean includesStop) {
    this.prefix = prefix;
    this.start = start;
    this.stop = stop;
    this.excludesStart = excludesStart;
    this.includesStop = includesStop;
  }

  private static Key greatest() {
    byte[] bytes = new byte[Key.LONGEST];
    Arrays.fill(bytes, (byte) 0xff);
    return Key.of(bytes);
  }

  /** Made by prefix(""), perhaps by mistake. */
  boolean isEmptyPrefix() {
    return prefix.isEmpty() && prefix != NONE;
  }

  /** All keys. */
  public static Range all() {
    return prefix(NONE);
  }

  public static Range prefix(Key prefix) {
    return new Range(prefix, NONE, NONE, false, false);
  }

  public static Range prefix(String prefix) {
    return prefix(Key.of(prefix));
  }

  /** From {@code start}, which is part of it, to {@code stop}, which is not. An empty key is no bound. */
  public static Range between(Key start, Key stop) {
    return new Range(NONE, start, stop, false, false);
  }

  public static Range between(String start, String stop) {
    return between(Key.of(start), Key.of(stop));
  }

  public Range excludingStart() {
    return new Range(prefix, start, stop, true, includesStop);
  }

  public Range includingStop() {
    return new Range(prefix, start, stop, excludesStart, true);
  }

  /** Does the range have this key? */
  public boolean contains(Key key) {
    if (!prefix.isEmpty()) {
      return key.startsWith(prefix);
    }
    int above = key.compareTo(start);
    int below = stop.isEmpty() ? -1 : key.compareTo(stop);
    return (above > 0 || (above == 0 && (start.isEmpty() || !excludesStart))) && (below < 0 || (below == 0 && includesStop));
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Range range && prefix.equals(range.prefix) && start.equals(range.start) && stop.equals(range.stop)
        && excludesStart == range.excludesStart && includesStop == range.includesStop;
  }

  @Override
  public int hashCode() {
    return Objects.hash(prefix, start, stop, excludesStart, includesStop);
  }

  /** Where it starts and ends, as a line says it. */
  String words(boolean reverse) {
    String direction = reverse ? " r" : "";
    if (!prefix.isEmpty()) {
      return (prefix.needsBase64() ? prefix.encoded() + " p b" : prefix.raw() + " p") + direction;
    }
    Key near = reverse ? stop : start;
    Key far = reverse ? start : stop;
    boolean bounded = !near.isEmpty();
    boolean encoded = near.needsBase64() || far.needsBase64() || near.raw().equals("-");
    if (!bounded && encoded) { // "-" in base64 would be a key, so use the first or last possible key
      near = reverse ? GREATEST : LEAST;
    }
    String line = encoded ? near.encoded() + " b" : bounded ? near.raw() : "-";
    if (bounded && (reverse ? !includesStop : excludesStart)) {
      line += " o";
    }
    if (!far.isEmpty()) {
      line += " H" + (encoded ? far.encoded() : far.raw()) + ((reverse ? !excludesStart : includesStop) ? " i" : "");
    }
    return line + direction;
  }
}
