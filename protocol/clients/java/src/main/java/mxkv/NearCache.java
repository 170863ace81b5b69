package mxkv;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;

/**
 * Keeps items of a range in the process, and that there was no item. The server's changes keep it current. The least recently used entries
 * go. For any number of threads.
 *
 * <p>A value that {@code get} returns was current at some moment at most {@code maxStale} before the call. A thread watches the range. Every
 * quarter of {@code maxStale} it notes the time and asks the server for a mark, which stands behind all changes that took effect before it
 * was asked for. So at the mark the cache has been current since then, and it is live until that time + {@code maxStale}: counting from
 * the mark's arrival would trust a delayed packet. While the cache is not live, reads go to the server, and the entries stay.
 *
 * <p>The line of a change may arrive before the reply to an older read, which has another connection. So each read is in a table of pending
 * reads before it is sent. A line for its key, a clear of the cache, and an own write, when it is sent and when it is answered, taint the
 * read: its value is returned, but not kept. A change that the read did not see takes effect behind it, so its line comes after the
 * read was entered.
 *
 * <p>The server sends times to live in whole seconds, rounded up. An entry outlives its item by at most a second, or {@code maxStale} if that
 * is less.
 *
 * <p>Writes of the range should go through {@code set}, {@code delete} or {@code writing}, so that this process reads its own writes;
 * others are seen within {@code maxStale}. Two limits: a flush_all with a delay that was sent before the cache began is not noticed, and
 * two values of a key must not have the same unique, as the flag E of the meta commands would allow.
 */
public final class NearCache implements AutoCloseable {
  static final int ENTRY_BYTES = 200; // of an entry beside its key and value
  private static final int MARKS = 4; // that are asked for in maxStale
  private static final long SECOND_NS = TimeUnit.SECONDS.toNanos(1);
  private static final long NEVER = Long.MAX_VALUE;
  private static final WatchOptions FORM = WatchOptions.KEYS.withDetails()
      .kinds(Change.Kind.PUT, Change.Kind.DELETED, Change.Kind.EVICTED, Change.Kind.TOUCHED);

  /** What the server had. A ring of them: next of the root is the most recently used one. */
  private static final class Entry {
    final String id; // the key, each character a byte
    final Optional<byte[]> value;
    final long unique;
    final boolean isAscii; // then the key as text is the same as `id`
    volatile long end;
    boolean isLinked; // in the ring
    Entry previous = this;
    Entry next = this;

    Entry(String id, Optional<byte[]> value, long unique, long end) {
      this.id = id;
      this.value = value;
      this.unique = unique;
      this.end = end;
      isAscii = id.chars().allMatch(letter -> letter < 0x80);
    }

    long cost() {
      return id.length() + value.map(bytes -> bytes.length).orElse(0) + ENTRY_BYTES;
    }

    void unlink() {
      isLinked = false;
      previous.next = next;
      next.previous = previous;
    }

    void link(Entry behind) {
      isLinked = true;
      previous = behind;
      next = behind.next;
      behind.next.previous = this;
      behind.next = this;
    }
  }

  /** A read on its way. Its value is not kept if it is tainted. */
  private static final class Reading {
    final String id;
    boolean tainted;

    Reading(String id, boolean tainted) {
      this.id = id;
      this.tainted = tainted;
    }
  }

  private record Found(Optional<byte[]> value, long unique, long ttlSeconds, boolean isCurrent) {}

  private final MxkvClient client;
  private final Pool pool;
  private final MxkvClient.Builder options;
  private final Range where;
  private final long maxBytes;
  private final long maxStaleNs;
  private final long slackNs;
  private final long startNs = System.nanoTime(); // the zero of all times below
  private final CountDownLatch closing = new CountDownLatch(1);
  private final Thread follower;

  // Of the thread that follows the watch.
  private int attempt; // to begin the watch, since the last mark
  private volatile WatchStream stream;

  private final ReentrantLock lock = new ReentrantLock(); // for all below; hits only read entries and liveUntil, without it
  private final Map<String, Entry> entries = new ConcurrentHashMap<>();
  private final Entry recent = new Entry("", Optional.empty(), 0, 0);
  private final List<Reading> pending = new ArrayList<>();
  private long bytes;
  private volatile long liveUntil;
  private boolean follows; // the server will send the changes behind a read that is sent now
  private long keepsFrom; // values of reads that were sent before are not kept
  private long knownAt; // lines that come now were written after this time
  private String position;
  private MxkvException failure;

  NearCache(MxkvClient client, Pool pool, MxkvClient.Builder options, Range where, long maxBytes, Duration maxStale) {
    if (maxBytes < 0 || maxStale.isZero() || maxStale.isNegative()) {
      throw new MxkvException.Client("maxStale must be above zero, and maxBytes must not be negative");
    }
    this.client = client;
    this.pool = pool;
    this.options = options;
    this.where = where;
    this.maxBytes = maxBytes;
    maxStaleNs = maxStale.toNanos();
    slackNs = Math.min(maxStaleNs, SECOND_NS) - SECOND_NS;
    begin();
    follower = new Thread(this::run, "mxkv near cache");
    follower.setDaemon(true);
    follower.start();
  }

  /** The value; empty if there is no such item. Do not change the value. */
  public Optional<byte[]> get(String key) {
    long now = now();
    if (now < liveUntil) {
      Entry entry = entries.get(key);
      if (entry != null && entry.isAscii && now < entry.end) {
        return used(entry);
      }
    }
    return get(Key.of(key));
  }

  /** The value; empty if there is no such item. Do not change the value. */
  public Optional<byte[]> get(Key key) {
    // The clock is read first, then liveUntil, then the entry: it was current at the mark by which the cache is live, or later.
    long now = now();
    String id = key.raw();
    if (now < liveUntil) {
      Entry entry = entries.get(id);
      if (entry != null && now < entry.end) {
        return used(entry);
      }
    }
    return fetch(key, id);
  }

  /** Notes the use, unless another thread has the lock: then so many entries are used that their order need not be exact. */
  private Optional<byte[]> used(Entry entry) {
    if (lock.tryLock()) {
      try {
        if (entry.isLinked && recent.next != entry) {
          entry.unlink();
          entry.link(recent);
        }
      } finally {
        lock.unlock();
      }
    }
    return entry.value;
  }

  /** Stores a value, as the client does. */
  public void set(Key key, byte[] value, StoreOptions how) {
    writing(() -> {
      client.set(key, value, how);
      return true;
    }, key);
  }

  public void set(String key, String value) {
    set(Key.of(key), Key.of(value).bytes(), StoreOptions.NONE);
  }

  /** False if it was not there. */
  public boolean delete(Key key) {
    return writing(() -> client.delete(key), key);
  }

  public boolean delete(String key) {
    return delete(Key.of(key));
  }

  /** Calls a function that writes these keys by the client, so that later reads see these writes, and returns what it returns. */
  public <T> T writing(Supplier<T> write, Key... keys) {
    List<String> ids = Arrays.stream(keys).map(this::checked).toList();
    forget(ids);
    try {
      return write.get();
    } finally {
      forget(ids);
    }
  }

  /** Does it answer reads itself? */
  public boolean isLive() {
    lock.lock();
    try {
      return now() < liveUntil;
    } finally {
      lock.unlock();
    }
  }

  /** The number of entries. */
  public int entries() {
    lock.lock();
    try {
      return entries.size();
    } finally {
      lock.unlock();
    }
  }

  /** Bytes of keys and values, and 200 for each entry. */
  public long bytes() {
    lock.lock();
    try {
      return bytes;
    } finally {
      lock.unlock();
    }
  }

  /** The error that ended the last connection of the watch; empty while the watch is followed. */
  public Optional<MxkvException> failure() {
    lock.lock();
    try {
      return Optional.ofNullable(failure);
    } finally {
      lock.unlock();
    }
  }

  /** Ends the watch. Reads go to the server from then on. */
  @Override
  public void close() {
    closing.countDown();
    WatchStream last = stream;
    if (last != null) {
      last.close();
    }
    try {
      follower.join();
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
    clear();
  }

  private long now() {
    return System.nanoTime() - startNs;
  }

  private String checked(Key key) {
    key.words(""); // its length
    if (!where.contains(key)) {
      throw new MxkvException.Client("the key is outside of the range of this near cache");
    }
    return key.raw();
  }

  private Optional<byte[]> fetch(Key key, String id) {
    checked(key);
    byte[] line = Lines.of("mg " + key.words("") + " v f c t");
    Reading reading;
    lock.lock();
    try {
      reading = new Reading(id, !follows);
      pending.add(reading);
    } finally {
      lock.unlock();
    }
    long sent = now();
    Found found = null;
    try {
      found = pool.ask(line, Pool.Repeat.ALWAYS, in -> found(Reply.read(in)));
    } finally {
      lock.lock();
      try {
        pending.remove(reading);
        if (found != null && !reading.tainted && found.isCurrent() && sent >= keepsFrom) {
          keep(new Entry(id, found.value(), found.unique(), endOf(sent, found.ttlSeconds())));
        }
      } finally {
        lock.unlock();
      }
    }
    return found.value();
  }

  private static Found found(Reply reply) {
    if (reply.value() == null) {
      reply.expecting("EN");
      return new Found(Optional.empty(), 0, -1, true);
    }
    // The server says so if the item is stale, or if this client is to renew it.
    boolean isCurrent = reply.flag("W") == null && reply.flag("X") == null && reply.flag("Z") == null;
    return new Found(Optional.of(reply.value()), reply.number("c", 0), reply.number("t", -1), isCurrent);
  }

  /** An end by seconds to live that were counted from this time at the earliest. */
  private long endOf(long from, long seconds) {
    return seconds < 0 ? NEVER : from + TimeUnit.SECONDS.toNanos(seconds) + slackNs;
  }

  private void keep(Entry entry) {
    drop(entries.get(entry.id));
    if (entry.cost() > maxBytes) {
      return;
    }
    entries.put(entry.id, entry);
    entry.link(recent);
    bytes += entry.cost();
    while (bytes > maxBytes) {
      drop(recent.previous);
    }
  }

  private void drop(Entry entry) {
    if (entry != null) {
      entries.remove(entry.id);
      forgotten(entry);
    }
  }

  private void forgotten(Entry entry) {
    entry.unlink();
    bytes -= entry.cost();
  }

  private void forget(List<String> ids) {
    lock.lock();
    try {
      for (String id : ids) {
        drop(entries.get(id));
        taint(id);
      }
    } finally {
      lock.unlock();
    }
  }

  private void taint(String id) {
    for (Reading reading : pending) {
      reading.tainted |= reading.id.equals(id);
    }
  }

  /** Forgets all, the position, too, and keeps nothing until a watch has begun anew. */
  private void clear() {
    lock.lock();
    try {
      liveUntil = 0;
      follows = false;
      position = null;
      entries.values().forEach(entry -> entry.isLinked = false);
      entries.clear();
      recent.next = recent;
      recent.previous = recent;
      bytes = 0;
      pending.forEach(reading -> reading.tainted = true);
    } finally {
      lock.unlock();
    }
  }

  private void run() {
    while (closing.getCount() > 0) {
      try {
        if (stream == null) {
          begin();
        }
        follow(stream);
      } catch (MxkvException lost) {
        if (lost instanceof MxkvException.TooOld || lost instanceof MxkvException.HistoryLost) {
          clear(); // the position is never sent again
        }
        lock.lock();
        try {
          failure = lost;
        } finally {
          lock.unlock();
        }
      } catch (InterruptedException interrupted) {
        closing.countDown(); // nobody else has this thread
      }
      WatchStream last = stream;
      if (last != null) {
        last.close();
      }
      stream = null;
      try {
        closing.await(Pool.waitAfterMs(attempt++), TimeUnit.MILLISECONDS);
      } catch (InterruptedException interrupted) {
        closing.countDown();
      }
    }
  }

  private void begin() {
    long asked = now();
    WatchStream made = new WatchStream(options, where, position == null ? FORM : FORM.from(position));
    stream = made;
    lock.lock();
    try {
      position = made.position;
      knownAt = asked;
      follows = true;
    } finally {
      lock.unlock();
    }
  }

  private void follow(WatchStream from) throws InterruptedException {
    Map<String, Long> asked = new HashMap<>(); // the times of requests for marks that did not come yet
    long due = 0;
    for (long number = 0; closing.getCount() > 0; ) {
      long now = now();
      if (now >= due) {
        for (long since : asked.values()) {
          if (options.timeoutMs > 0 && now - since > TimeUnit.MILLISECONDS.toNanos(options.timeoutMs)) {
            throw new MxkvException.Timeout("no mark in time", null);
          }
        }
        String mark = Long.toString(++number);
        due = now + maxStaleNs / MARKS;
        asked.put(mark, now);
        from.askMark(mark);
      }
      Changes.Section found = from.next(Duration.ofNanos(due - now()));
      if (found != null) {
        take(found.changes(), found.mark() == null ? null : asked.remove(found.mark()));
      }
    }
  }

  /** Applies changes. A mark that was asked for at this time makes the cache live. */
  void take(Changes found, Long asked) {
    lock.lock();
    try {
      found.forEach(this::apply);
      position = found.position().orElse(position);
      if (asked != null) {
        knownAt = asked;
        liveUntil = asked + maxStaleNs;
        attempt = 0;
        failure = null;
      }
    } finally {
      lock.unlock();
    }
  }

  private void apply(Change change) {
    if (change.kind().ofRange()) {
      applyToRange(change);
      return;
    }
    String id = change.key().raw();
    taint(id);
    Entry entry = entries.get(id);
    if (entry == null) {
      return;
    }
    boolean isSame = change.kind() == Change.Kind.PUT && entry.value.isPresent() && change.unique() == entry.unique && !change.stale();
    if (change.kind() == Change.Kind.TOUCHED) {
      entry.end = endOf(knownAt, seconds(change));
    } else if (!isSame) { // else it is the put that was read
      drop(entry);
    }
  }

  private void applyToRange(Change change) {
    pending.stream().filter(reading -> where(change, reading.id)).forEach(reading -> reading.tainted = true);
    for (Iterator<Entry> all = entries.values().iterator(); all.hasNext(); ) {
      Entry entry = all.next();
      if (!where(change, entry.id)) {
        continue;
      }
      if (change.kind() == Change.Kind.RANGE_TOUCHED) {
        entry.end = endOf(knownAt, seconds(change));
      } else {
        all.remove();
        forgotten(entry);
      }
    }
    if (!change.delay().isZero()) {
      keepsFrom = Math.max(keepsFrom, now() + change.delay().toNanos() + SECOND_NS);
    }
  }

  private static boolean where(Change change, String id) {
    return change.range().contains(Key.ofRaw(id));
  }

  private static long seconds(Change change) {
    return change.timeToLive().map(Duration::toSeconds).orElse(-1L);
  }

  // For tests.

  long liveUntilNs() {
    lock.lock();
    try {
      return liveUntil;
    } finally {
      lock.unlock();
    }
  }

  boolean areAllTainted() {
    lock.lock();
    try {
      return pending.stream().allMatch(reading -> reading.tainted);
    } finally {
      lock.unlock();
    }
  }

  boolean has(String key) {
    lock.lock();
    try {
      return entries.containsKey(key);
    } finally {
      lock.unlock();
    }
  }
}
