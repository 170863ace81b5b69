package mxkv;

import java.io.IOException;
import java.io.InputStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Function;

/** Gathers operations that happen at once or not at all. Each finds what those before it left. */
public sealed class Batch permits Pipeline {
  record Operation<T>(byte[] line, Outcome<T> outcome, Function<Reply, T> reading) {
    void take(Reply reply) {
      outcome.set(reading.apply(reply));
    }
  }

  final List<Operation<?>> operations = new ArrayList<>();

  Batch() {}

  public Outcome<Optional<Item>> get(Key key) {
    return add(Lines.get(key), reply -> Optional.ofNullable(reply.value()).map(value -> Item.of(reply, key)));
  }

  public Outcome<Boolean> set(Key key, byte[] value, StoreOptions how) {
    return store("", key, value, how, OptionalLong.empty());
  }

  public Outcome<Boolean> set(Key key, byte[] value) {
    return set(key, value, StoreOptions.NONE);
  }

  /** Fails with NotStored if the key is there. */
  public Outcome<Boolean> add(Key key, byte[] value, StoreOptions how) {
    return store(" ME", key, value, how, OptionalLong.empty());
  }

  /** Fails with NotStored if the key is not there. */
  public Outcome<Boolean> replace(Key key, byte[] value, StoreOptions how) {
    return store(" MR", key, value, how, OptionalLong.empty());
  }

  /** Fails with Stale if the key has another unique, with NotFound if it is gone. */
  public Outcome<Boolean> compareAndSwap(Key key, byte[] value, long unique, StoreOptions how) {
    return store("", key, value, how, OptionalLong.of(unique));
  }

  /** Fails with NotStored if the key is not there. */
  public Outcome<Boolean> append(Key key, byte[] data) {
    return store(" MA", key, data, StoreOptions.NONE, OptionalLong.empty());
  }

  /** Was it there? */
  public Outcome<Boolean> delete(Key key) {
    return add(Lines.delete(key, OptionalLong.empty()), reply -> reply.code().equals("HD"));
  }

  /** Was it there? */
  public Outcome<Boolean> touch(Key key, Duration expires) {
    return add(Lines.touch(key, expires), reply -> reply.code().equals("HD"));
  }

  /** The new number, unsigned; fails with NotFound if there is none. */
  public Outcome<Long> increment(Key key, long delta) {
    return add(Lines.count(key, "", delta), Reply::count);
  }

  /** As increment; it stops at 0. */
  public Outcome<Long> decrement(Key key, long delta) {
    return add(Lines.count(key, " MD", delta), Reply::count);
  }

  /** As increment; a key that is missing is made with the initial number. */
  public Outcome<Long> incrementFrom(Key key, long initial, long delta) {
    return add(Lines.count(key, " N0 J" + Long.toUnsignedString(initial), delta), Reply::count);
  }

  boolean isEmpty() {
    return operations.isEmpty();
  }

  byte[] request() {
    return Lines.joined(Lines.of("mb " + operations.size()), Lines.joined(operations.stream().map(Operation::line).toArray(byte[][]::new)));
  }

  Void read(InputStream in) throws IOException {
    List<Reply> replies = new ArrayList<>();
    while (replies.size() < operations.size()) {
      Reply reply = Reply.read(in);
      if (reply.code().equals("EX") && reply.words().size() > 2) {
        String why = String.join(" ", reply.words().subList(2, reply.words().size()));
        throw MxkvException.ofBatch(reply.parsed(reply.words().get(1), Integer::parseInt) - 1, why);
      }
      replies.add(reply);
    }
    Reply.read(in).expecting("HD");
    for (int at = 0; at < replies.size(); ++at) {
      operations.get(at).take(replies.get(at));
    }
    return null;
  }

  private Outcome<Boolean> store(String mode, Key key, byte[] value, StoreOptions how, OptionalLong unique) {
    return add(Lines.store(mode, key, value, how, unique), reply -> true);
  }

  private <T> Outcome<T> add(byte[] line, Function<Reply, T> reading) {
    Outcome<T> outcome = new Outcome<>();
    operations.add(new Operation<>(line, outcome, reading));
    return outcome;
  }
}
