package mxkv;

import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Consumer;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import javax.net.ssl.SSLContext;

/**
 * A client of one server, for any number of threads. Each request has a connection of the pool for itself, a range one for each
 * page. Reads are sent again if their connection was lost; writes are not unless told, since nobody knows whether they took effect.
 */
public final class MxkvClient implements AutoCloseable {
  private static final int AT_ONCE = 100; // keys whose requests leave before the first reply is read

  /** How to connect. */
  public static final class Builder {
    final String host;
    final int port;
    String user;
    String password = "";
    SSLContext tls;
    int maxConnections = 8;
    int connectTimeoutMs = 1000;
    int timeoutMs = 3000;
    Hook hook;
    int retries = 2;
    boolean retryWrites;

    private Builder(String host, int port) {
      this.host = host;
      this.port = port;
    }

    public Builder login(String name, String secret) {
      user = name;
      password = secret;
      return this;
    }

    public Builder tls(SSLContext context) {
      tls = context;
      return this;
    }

    /** Who finds all taken waits. */
    public Builder maxConnections(int most) {
      maxConnections = most;
      return this;
    }

    /** For a new connection, with each step of its handshakes, and for each read of a reply: 1 s and 3 s if not set; zero for ever. */
    public Builder timeouts(Duration connect, Duration reply) {
      connectTimeoutMs = Math.toIntExact(connect.toMillis());
      timeoutMs = Math.toIntExact(reply.toMillis());
      return this;
    }

    /** How often a read is sent again after its connection was lost. */
    public Builder retries(int most) {
      retries = most;
      return this;
    }

    /** Also send again what leaves the same if done twice: set, delete, touch, and those of ranges. */
    public Builder retryWrites() {
      retryWrites = true;
      return this;
    }

    /** Sees each request. */
    public Builder hook(Hook observer) {
      hook = observer;
      return this;
    }

    String name() {
      return host + ":" + port;
    }

    /** It connects when it has to. */
    public MxkvClient build() {
      return new MxkvClient(this);
    }
  }

  /** What a compareAndSwap did. */
  public enum Swap {
    STORED,
    STALE,
    NOT_FOUND
  }

  private final Builder options;
  private final Pool pool;
  private final Ranges ranges;

  private MxkvClient(Builder options) {
    this.options = options;
    pool = new Pool(options);
    ranges = new Ranges(pool);
  }

  /**
   * A server as {@code host}, {@code host:port} or a URL: {@code mxkv://user:password@host:port}, {@code mxkvs://} for TLS that
   * trusts the authorities of the platform. The port is 11211 if it is left out.
   */
  public static Builder builder(String server) {
    Address address = Address.of(server);
    Builder made = new Builder(address.host(), address.port()).login(address.user(), address.password());
    if (address.tls()) {
      try {
        made.tls(SSLContext.getDefault());
      } catch (NoSuchAlgorithmException none) {
        throw new MxkvException.Tls("this platform has no TLS", none);
      }
    }
    return made;
  }

  public static MxkvClient connect(String server) {
    return builder(server).build();
  }

  public static Builder builder(String host, int port) {
    return new Builder(host, port);
  }

  public static MxkvClient connect(String host, int port) {
    return builder(host, port).build();
  }

  @Override
  public void close() {
    pool.close();
  }

  public Optional<Item> get(Key key) {
    return Optional.ofNullable(getMany(List.of(key)).get(key));
  }

  public Optional<Item> get(String key) {
    return get(Key.of(key));
  }

  /** Those that are there; each has its own moment. */
  public Map<Key, Item> getMany(Collection<Key> keys) {
    Map<Key, Item> found = new HashMap<>();
    List<Key> all = List.copyOf(keys);
    for (int from = 0; from < all.size(); from += AT_ONCE) {
      List<Key> some = all.subList(from, Math.min(all.size(), from + AT_ONCE));
      pool.ask(Lines.joined(some.stream().map(Lines::get).toArray(byte[][]::new)), Pool.Repeat.ALWAYS, in -> {
        MxkvException.Answer first = null;
        for (Key key : some) {
          try {
            Reply reply = Reply.read(in);
            if (reply.value() != null) {
              found.put(key, Item.of(reply, key));
            }
          } catch (MxkvException.Answer error) { // read the replies behind it nevertheless
            first = first == null ? error : first;
          }
        }
        if (first != null) {
          throw first;
        }
        return null;
      });
    }
    return found;
  }

  public void set(Key key, byte[] value, StoreOptions how) {
    store("", key, value, how, OptionalLong.empty(), Pool.Repeat.IF_ASKED);
  }

  public void set(Key key, byte[] value) {
    set(key, value, StoreOptions.NONE);
  }

  public void set(String key, String value) {
    set(Key.of(key), Key.of(value).bytes());
  }

  /** Stores where nothing is; false where something is. */
  public boolean add(Key key, byte[] value, StoreOptions how) {
    return store(" ME", key, value, how, OptionalLong.empty(), Pool.Repeat.NEVER).equals("HD");
  }

  /** Stores where something is; false where nothing is. */
  public boolean replace(Key key, byte[] value, StoreOptions how) {
    return store(" MR", key, value, how, OptionalLong.empty(), Pool.Repeat.NEVER).equals("HD");
  }

  /** Puts data behind the value that is there; false if none is. */
  public boolean append(Key key, byte[] data) {
    return store(" MA", key, data, StoreOptions.NONE, OptionalLong.empty(), Pool.Repeat.NEVER).equals("HD");
  }

  /** Stores where the item still has this unique. */
  public Swap compareAndSwap(Key key, byte[] value, long unique, StoreOptions how) {
    return switch (store("", key, value, how, OptionalLong.of(unique), Pool.Repeat.NEVER)) {
      case "HD" -> Swap.STORED;
      case "EX" -> Swap.STALE;
      default -> Swap.NOT_FOUND;
    };
  }

  /** False if it was not there. */
  public boolean delete(Key key) {
    return done(Lines.delete(key, OptionalLong.empty()));
  }

  public boolean delete(String key) {
    return delete(Key.of(key));
  }

  /** Sets the time to live, zero for ever; false if there is no such key. */
  public boolean touch(Key key, Duration expires) {
    return done(Lines.touch(key, expires));
  }

  public boolean touch(String key, Duration expires) {
    return touch(Key.of(key), expires);
  }

  /** The new number, unsigned; empty if there is no such key. It wraps around at 2^64. */
  public OptionalLong increment(Key key, long delta) {
    return count(Lines.count(key, "", delta));
  }

  public OptionalLong increment(String key, long delta) {
    return increment(Key.of(key), delta);
  }

  /** As increment; it stops at 0. */
  public OptionalLong decrement(Key key, long delta) {
    return count(Lines.count(key, " MD", delta));
  }

  public OptionalLong decrement(String key, long delta) {
    return decrement(Key.of(key), delta);
  }

  public void flushAll() {
    pool.ask(Lines.of("flush_all"), Pool.Repeat.NEVER, in -> Reply.read(in).expecting("OK"));
  }

  /** memcached's version and mxkv's. */
  public String version() {
    return pool.ask(Lines.of("version"), Pool.Repeat.ALWAYS, in -> Reply.read(in).expecting("VERSION")).words().get(1);
  }

  /** The statistics of a group, or the general ones if it is empty. */
  public Map<String, String> stats(String group) {
    return ranges.stats(group);
  }

  /** Key and value of all keys of a range, in order. */
  public Iterable<Item> scan(Range where) {
    return scan(where, ScanOptions.ALL);
  }

  /**
   * Walks through a range, a page at a time. A key that is there from the first page to the last is told, none is told twice, and
   * keys come in strict order, whatever others write meanwhile. After a lost connection it goes on behind the last page.
   */
  public Iterable<Item> scan(Range where, ScanOptions how) {
    return () -> Ranges.walk((cursor, seen) -> ranges.page(where, how, cursor, seen));
  }

  /** As scan. */
  public Stream<Item> stream(Range where, ScanOptions how) {
    return StreamSupport.stream(scan(where, how).spliterator(), false);
  }

  /** One page, from a cursor on if there is one: for what goes on in another process. A cursor is text, and not signed. */
  public Page page(Range where, ScanOptions how, Optional<String> cursor) {
    Ranges.Part<Item> part = ranges.page(where, how, cursor.orElse(null), 0);
    return part == null ? new Page(List.of(), cursor) : new Page(part.parts(), Optional.ofNullable(part.cursor()));
  }

  public long count(Range where) {
    return size(where).items();
  }

  public Size size(Range where) {
    return ranges.size(where, " e");
  }

  /** Counts a sample, in less time. */
  public Size estimateSize(Range where) {
    return ranges.size(where, "");
  }

  /** Adds up the values that are numbers. */
  public Numbers numbers(Range where) {
    return ranges.numbers(where);
  }

  /** Counts by prefix, each up to the next delimiter behind the range's own; last of each page the keys without one. */
  public Iterable<Branch> tree(Range where, String delimiter) {
    return () -> Ranges.walk((cursor, seen) -> ranges.branches(where, Key.of(delimiter), cursor));
  }

  /** Deletes all keys page by page, tells how many; others see it at work. count() tells before how many there are. An empty prefix is refused. */
  public long deleteRange(Range where) {
    return ranges.remove(where, "");
  }

  /** Deletes all keys at one moment, or none: RangeTooLarge if they are more than the server locks. */
  public long deleteRangeAtOnce(Range where) {
    return ranges.remove(where, " X");
  }

  /** Gives all keys this time to live at one moment, zero for ever; RangeTooLarge if they are more than atMost, or than the server locks. */
  public long touchRange(Range where, Duration expires, OptionalLong atMost) {
    String most = atMost.isEmpty() ? "" : " A" + atMost.getAsLong();
    return ranges.one("mt " + where.words(false) + " T" + Lines.exptime(expires) + most, Pool.Repeat.IF_ASKED).number("A", 0);
  }

  /**
   * Begins to watch a range, on a connection of its own: from now on, or behind a position. To copy a range, begin the watch, read the
   * range, then apply the changes.
   */
  public Watch watch(Range where, WatchOptions how) {
    return new Watch(options, where, how);
  }

  /** Begins a near cache of a range. An exception if the server refuses the watch. */
  public NearCache nearCache(Range where, long maxBytes, Duration maxStale) {
    return new NearCache(this, pool, options, where, maxBytes, maxStale);
  }

  /** Does what {@code gather} gathers at one moment, or nothing of it; nothing is sent if it throws. */
  public void batch(Consumer<Batch> gather) {
    Batch batch = new Batch();
    gather.accept(batch);
    if (!batch.isEmpty()) {
      pool.ask(batch.request(), Pool.Repeat.NEVER, batch::read);
    }
  }

  /**
   * Executes what {@code gather} gathers in few round trips, each operation by itself; nothing is sent if it throws. If the server
   * refuses operations, it executes all others, and the first refusal is thrown (Client, Server). NotStored, NotFound and Stale come
   * only with the operation's outcome.
   */
  public void pipeline(Consumer<Pipeline> gather) {
    Pipeline pipeline = new Pipeline();
    gather.accept(pipeline);
    pipeline.execute(pool);
  }

  private String store(String mode, Key key, byte[] value, StoreOptions how, OptionalLong unique, Pool.Repeat repeat) {
    Reply reply = pool.ask(Lines.store(mode, key, value, how, unique), repeat, Reply::read);
    return switch (reply.code()) {
      case "HD", "NS", "EX", "NF" -> reply.code();
      default -> throw reply.unexpected();
    };
  }

  private boolean done(byte[] line) {
    Reply reply = pool.ask(line, Pool.Repeat.IF_ASKED, Reply::read);
    return switch (reply.code()) {
      case "HD" -> true;
      case "NF", "EN" -> false;
      default -> throw reply.unexpected();
    };
  }

  private OptionalLong count(byte[] line) {
    Reply reply = pool.ask(line, Pool.Repeat.NEVER, Reply::read);
    return reply.code().equals("NF") ? OptionalLong.empty() : OptionalLong.of(reply.count());
  }
}
