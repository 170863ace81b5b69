package mxkv;

import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * What a watch sends, and where it begins: {@code WatchOptions.KEYS.withValues().from(position)}.
 *
 * @param values values and flags
 * @param details uniques, flags, lengths and times to live
 * @param kinds kinds of single items; empty: all but EXPIRED. Deletes of ranges come with DELETED, touches with TOUCHED
 * @param position goes on behind the position of an earlier watch
 */
public record WatchOptions(boolean values, boolean details, Set<Change.Kind> kinds, Optional<String> position) {
  /** Keys alone, from now on. */
  public static final WatchOptions KEYS = new WatchOptions(false, false, Set.of(), Optional.empty());

  public WatchOptions {
    if (kinds.stream().anyMatch(Change.Kind::ofRange)) {
      throw new MxkvException.Client("a watch takes kinds of single items");
    }
    if (position.isPresent() && (position.get().isEmpty() || Key.of(position.get()).needsBase64())) {
      throw new MxkvException.Client("a position is a word without blanks and control bytes");
    }
    kinds = Set.copyOf(kinds);
  }

  public WatchOptions withValues() {
    return new WatchOptions(true, details, kinds, position);
  }

  public WatchOptions withDetails() {
    return new WatchOptions(values, true, kinds, position);
  }

  public WatchOptions kinds(Change.Kind... some) {
    return new WatchOptions(values, details, Set.of(some), position);
  }

  public WatchOptions from(String last) {
    return new WatchOptions(values, details, kinds, Optional.of(last));
  }

  /** The line that begins a watch. */
  byte[] line(Range where) {
    String line = "mw " + where.words(false) + " Ow" + (values ? " v" : "") + (details ? " c f s t" : values ? " f" : "");
    if (!kinds.isEmpty()) {
      line += " M" + kinds.stream().sorted().map(kind -> "pdext".substring(kind.ordinal(), kind.ordinal() + 1)).collect(Collectors.joining());
    }
    return Lines.of(line + position.map(last -> " G" + last).orElse(""));
  }
}
