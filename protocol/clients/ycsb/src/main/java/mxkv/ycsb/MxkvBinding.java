package mxkv.ycsb;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.Vector;
import java.util.function.UnaryOperator;
import mxkv.Item;
import mxkv.Key;
import mxkv.MxkvClient;
import mxkv.MxkvException;
import mxkv.Range;
import mxkv.ScanOptions;
import mxkv.StoreOptions;
import site.ycsb.ByteArrayByteIterator;
import site.ycsb.ByteIterator;
import site.ycsb.DB;
import site.ycsb.Status;

/**
 * YCSB on mxkv. A record is one item under YCSB's key; tables share one key space. An update reads the record and swaps it, so that two
 * updates of different fields do not undo each other. What scans bring is checked: keys in order and, with dataintegrity, contents.
 */
public class MxkvBinding extends DB {
  private MxkvClient client;
  private boolean integrity;

  @Override
  public void init() {
    Properties properties = getProperties();
    String host = properties.getProperty("mxkv.host", "127.0.0.1");
    int port = Integer.parseInt(properties.getProperty("mxkv.port", "11211"));
    Duration patience = Duration.ofMillis(Long.parseLong(properties.getProperty("mxkv.timeoutms", "10000")));
    MxkvClient.Builder builder = MxkvClient.builder(host, port).timeouts(patience, patience).maxConnections(1);
    if (properties.containsKey("mxkv.user")) {
      builder.login(properties.getProperty("mxkv.user"), properties.getProperty("mxkv.password", ""));
    }
    client = builder.build();
    integrity = Boolean.parseBoolean(properties.getProperty("dataintegrity", "false"));
  }

  @Override
  public void cleanup() {
    client.close();
  }

  @Override
  public Status read(String table, String key, Set<String> fields, Map<String, ByteIterator> result) {
    return guarded(() -> {
      Optional<Item> found = client.get(key);
      found.ifPresent(item -> show(Fields.decoded(item.value()), fields, result));
      return found.isPresent() ? Status.OK : Status.NOT_FOUND;
    });
  }

  @Override
  public Status scan(String table, String startKey, int count, Set<String> fields, Vector<HashMap<String, ByteIterator>> result) {
    return guarded(() -> {
      Key last = null;
      ScanOptions how = ScanOptions.ALL.limit(count).pageItems(Math.min(count, 1000));
      for (Item item : client.scan(Range.between(startKey, ""), how)) {
        Map<String, byte[]> record = Fields.decoded(item.value());
        boolean inOrder = last == null ? item.key().compareTo(Key.of(startKey)) >= 0 : item.key().compareTo(last) > 0;
        if (!inOrder || (integrity && !isRight(item.key(), record))) {
          return Status.UNEXPECTED_STATE;
        }
        last = item.key();
        HashMap<String, ByteIterator> shown = new HashMap<>();
        show(record, fields, shown);
        result.add(shown);
      }
      return result.size() > count ? Status.UNEXPECTED_STATE : Status.OK;
    });
  }

  @Override
  public Status update(String table, String key, Map<String, ByteIterator> values) {
    Map<String, byte[]> changes = taken(values);
    return guarded(() -> swapped(Key.of(key), record -> {
      record.putAll(changes);
      return record;
    }));
  }

  @Override
  public Status insert(String table, String key, Map<String, ByteIterator> values) {
    byte[] record = Fields.encoded(taken(values));
    return guarded(() -> {
      client.set(Key.of(key), record);
      return Status.OK;
    });
  }

  @Override
  public Status delete(String table, String key) {
    return guarded(() -> client.delete(key) ? Status.OK : Status.NOT_FOUND);
  }

  private Status swapped(Key key, UnaryOperator<Map<String, byte[]>> change) {
    while (true) {
      Optional<Item> found = client.get(key);
      if (found.isEmpty()) {
        return Status.NOT_FOUND;
      }
      byte[] record = Fields.encoded(change.apply(Fields.decoded(found.get().value())));
      switch (client.compareAndSwap(key, record, found.get().unique(), StoreOptions.NONE)) {
        case STORED:
          return Status.OK;
        case NOT_FOUND:
          return Status.NOT_FOUND;
        default: // another client was faster
      }
    }
  }

  private static boolean isRight(Key key, Map<String, byte[]> record) {
    return record.entrySet().stream().allMatch(field -> Fields.hasIntegrity(key.toString(), field.getKey(), field.getValue()));
  }

  private static Map<String, byte[]> taken(Map<String, ByteIterator> values) {
    Map<String, byte[]> fields = new HashMap<>();
    values.forEach((name, content) -> fields.put(name, content.toArray()));
    return fields;
  }

  /** All fields if none are named. */
  private static void show(Map<String, byte[]> record, Set<String> fields, Map<String, ByteIterator> result) {
    record.forEach((name, content) -> {
      if (fields == null || fields.contains(name)) {
        result.put(name, new ByteArrayByteIterator(content));
      }
    });
  }

  private interface Work {
    Status run();
  }

  private static Status guarded(Work work) {
    try {
      return work.run();
    } catch (MxkvException.Connection lost) {
      System.err.println("mxkv: " + lost.getMessage());
      return Status.SERVICE_UNAVAILABLE;
    } catch (RuntimeException failure) {
      System.err.println("mxkv: " + failure);
      return Status.ERROR;
    }
  }
}
