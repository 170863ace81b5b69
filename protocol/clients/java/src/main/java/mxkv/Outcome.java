package mxkv;

/** What an operation of a batch gave: there once the batch was done. */
public final class Outcome<T> {
  private T value;
  private boolean done;

  Outcome() {}

  void set(T made) {
    value = made;
    done = true;
  }

  /** IllegalStateException before the batch was done. */
  public T value() {
    if (!done) {
      throw new IllegalStateException("the batch was not executed yet");
    }
    return value;
  }
}
