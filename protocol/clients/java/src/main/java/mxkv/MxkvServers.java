package mxkv;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.function.UnaryOperator;

/**
 * A client of several servers, for any number of threads. Each key belongs to one of them, by consistent hashing: the ring of
 * spymemcached's KetamaConnectionFactory for servers named by their addresses. If a server is down, requests for its keys fail: no
 * other server takes over, so old values never come back with it.
 */
public final class MxkvServers implements AutoCloseable {
  private static final int DIGESTS = 40; // of four points each

  private final Map<String, MxkvClient> clients = new LinkedHashMap<>();
  private final NavigableMap<Long, MxkvClient> ring = new TreeMap<>();

  /** Servers as {@code host:port} or URLs. */
  public MxkvServers(Collection<String> servers) {
    this(servers, builder -> builder);
  }

  /** {@code how} sets the options of each client. */
  public MxkvServers(Collection<String> servers, UnaryOperator<MxkvClient.Builder> how) {
    for (String server : servers) {
      MxkvClient.Builder builder = how.apply(MxkvClient.builder(server));
      String name = builder.name();
      MxkvClient client = builder.build();
      clients.put(name, client);
      for (int group = 0; group < DIGESTS; ++group) {
        byte[] digest = md5((name + "-" + group).getBytes(StandardCharsets.UTF_8));
        for (int at = 0; at < digest.length; at += 4) {
          ring.put(point(digest, at), client);
        }
      }
    }
    if (clients.isEmpty()) {
      throw new MxkvException.BadAddress("no servers were given");
    }
  }

  /** All clients by {@code host:port}. */
  public Map<String, MxkvClient> clients() {
    return Map.copyOf(clients);
  }

  /** The client of the server that has this key. Its ranges, batches and pipelines see this server alone. */
  public MxkvClient clientOf(Key key) {
    Map.Entry<Long, MxkvClient> next = ring.ceilingEntry(point(md5(key.bytes()), 0));
    return (next == null ? ring.firstEntry() : next).getValue();
  }

  /** As {@code clientOf(Key.of(key))}. */
  public MxkvClient clientOf(String key) {
    return clientOf(Key.of(key));
  }

  /** The existing items of many keys, from all servers. */
  public Map<Key, Item> getMany(Collection<Key> keys) {
    Map<MxkvClient, List<Key>> parts = new HashMap<>();
    for (Key key : keys) {
      parts.computeIfAbsent(clientOf(key), client -> new ArrayList<>()).add(key);
    }
    Map<Key, Item> found = new HashMap<>();
    parts.forEach((client, some) -> found.putAll(client.getMany(some)));
    return found;
  }

  @Override
  public void close() {
    clients.values().forEach(MxkvClient::close);
  }

  private static byte[] md5(byte[] data) {
    try {
      return MessageDigest.getInstance("MD5").digest(data);
    } catch (NoSuchAlgorithmException impossible) { // each Java platform has it
      throw new IllegalStateException(impossible);
    }
  }

  private static long point(byte[] digest, int at) {
    return (digest[at] & 0xffL) | (digest[at + 1] & 0xffL) << 8 | (digest[at + 2] & 0xffL) << 16 | (digest[at + 3] & 0xffL) << 24;
  }
}
