package mxkv;

/** What of a range is told, and how: {@code ScanOptions.ALL.reversed().limit(10)}. */
public record ScanOptions(boolean reverse, boolean keysOnly, boolean snapshot, long limit, int pageItems) {
  /** Keys and values, from the low keys to the high ones, without a limit. */
  public static final ScanOptions ALL = new ScanOptions(false, false, false, Long.MAX_VALUE, 1000);

  /** From the high keys to the low ones. */
  public ScanOptions reversed() {
    return new ScanOptions(true, keysOnly, snapshot, limit, pageItems);
  }

  /** Without values and flags. */
  public ScanOptions withoutValues() {
    return new ScanOptions(reverse, true, snapshot, limit, pageItems);
  }

  /** Each page is one moment. */
  public ScanOptions inSnapshots() {
    return new ScanOptions(reverse, keysOnly, true, limit, pageItems);
  }

  /** The most items of all pages together. */
  public ScanOptions limit(long items) {
    return new ScanOptions(reverse, keysOnly, snapshot, Math.max(0, items), pageItems);
  }

  /** The most items of a page; the server may end it earlier. */
  public ScanOptions pageItems(int items) {
    return new ScanOptions(reverse, keysOnly, snapshot, limit, Math.max(1, items));
  }
}
