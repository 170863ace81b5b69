package mxkv;

import java.util.Optional;

/** The result of an operation of a batch or pipeline, set once it was executed. */
public final class Outcome<T> {
  private T value;
  private boolean done;
  private MxkvException.Answer error;

  Outcome() {}

  void set(T made) {
    value = made;
    done = true;
  }

  void fail(MxkvException.Answer failure) {
    error = failure;
  }

  /** The reason why this operation of a pipeline failed. */
  public Optional<MxkvException.Answer> error() {
    return Optional.ofNullable(error);
  }

  /** The result. Throws the operation's error if it failed, and IllegalStateException before it was executed. */
  public T value() {
    if (error != null) {
      throw error;
    }
    if (!done) {
      throw new IllegalStateException("the operation was not executed yet");
    }
    return value;
  }
}
