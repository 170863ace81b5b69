package mxkv;

import java.time.Duration;

/** How to store: the client's flags, an unsigned number of 32 bits, and how long; zero is for ever. */
public record StoreOptions(long flags, Duration expires) {
  public static final StoreOptions NONE = new StoreOptions(0, Duration.ZERO);

  public static StoreOptions expiring(Duration after) {
    return new StoreOptions(0, after);
  }

  public StoreOptions withFlags(long value) {
    return new StoreOptions(value, expires);
  }
}
