import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import net.spy.memcached.CASResponse;
import net.spy.memcached.CASValue;
import net.spy.memcached.ConnectionFactory;
import net.spy.memcached.DefaultConnectionFactory;
import net.spy.memcached.MemcachedClient;
import net.spy.memcached.transcoders.SerializingTranscoder;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** spymemcached: one connection, everything pipelined, reads of several callers merged into multi-gets. */
class SpymemcachedTest {
  private MemcachedClient client;

  /** Which protocol it speaks. */
  ConnectionFactory factory() {
    return new DefaultConnectionFactory();
  }

  @BeforeEach
  void connect() throws Exception {
    client = new MemcachedClient(factory(), List.of(Place.address()));
    assertTrue(client.flush().get(20, TimeUnit.SECONDS));
  }

  @AfterEach
  void disconnect() {
    client.shutdown();
  }

  @Test
  void storesAndForgets() throws Exception {
    assertTrue(client.set("k", 0, "v").get());
    assertEquals("v", client.get("k"));
    assertFalse(client.add("k", 0, "w").get());
    assertTrue(client.replace("k", 0, "w").get());
    assertFalse(client.replace("absent", 0, "w").get());
    assertTrue(client.append("k", ">").get());
    assertTrue(client.prepend("k", "<").get());
    assertEquals("<w>", client.get("k"));
    assertTrue(client.delete("k").get());
    assertFalse(client.delete("k").get());
    assertNull(client.get("k"));
  }

  @Test
  void readsManyAtOnce() throws Exception {
    Map<String, Object> wanted = new HashMap<>();
    List<Future<Boolean>> stores = new ArrayList<>();
    for (int number = 0; number < 500; ++number) {
      wanted.put("many" + number, number);
      stores.add(client.set("many" + number, 0, number));
    }
    for (Future<Boolean> store : stores) {
      assertTrue(store.get());
    }
    List<String> keys = new ArrayList<>(wanted.keySet());
    keys.add("absent");
    assertEquals(wanted, client.getBulk(keys));
  }

  @Test
  void mergesReadsOfManyCallers() throws Exception {
    assertTrue(client.set("k", 0, "v").get());
    List<Future<Object>> reads = new ArrayList<>();
    for (int number = 0; number < 2000; ++number) {
      reads.add(client.asyncGet(number % 2 == 0 ? "k" : "absent" + number));
    }
    for (int number = 0; number < reads.size(); ++number) {
      assertEquals(number % 2 == 0 ? "v" : null, reads.get(number).get());
    }
  }

  @Test
  void counts() {
    assertEquals(-1, client.incr("n", 1));
    assertEquals(10, client.incr("n", 5, 10));
    assertEquals(15, client.incr("n", 5, 10));
    assertEquals(13, client.decr("n", 2));
    assertEquals(0, client.decr("n", 1000));
  }

  @Test
  void swapsOnlyWhatIsUnchanged() throws Exception {
    client.set("k", 0, "first").get();
    CASValue<Object> seen = client.gets("k");
    assertEquals("first", seen.getValue());
    assertEquals(CASResponse.OK, client.cas("k", seen.getCas(), "second"));
    assertEquals(CASResponse.EXISTS, client.cas("k", seen.getCas(), "third"));
    assertEquals(CASResponse.NOT_FOUND, client.cas("absent", seen.getCas(), "third"));
    assertNull(client.gets("absent"));
    assertEquals("second", client.get("k"));
  }

  @Test
  void expiresAndTouches() throws Exception {
    client.set("short", 1, "v").get();
    client.set("kept", 1, "v").get();
    assertTrue(client.touch("kept", 1000).get());
    Place.waitFor("the short-lived key is gone", () -> client.get("short") == null);
    assertEquals("v", client.get("kept"));
  }

  @Test
  void carriesLargeValues() throws Exception {
    SerializingTranscoder plain = new SerializingTranscoder();
    plain.setCompressionThreshold(Integer.MAX_VALUE);
    byte[] large = Place.bytes(1_000_000);
    assertTrue(client.set("large", 0, large, plain).get());
    assertArrayEquals(large, (byte[]) client.get("large", plain));
  }

  @Test
  void tellsStatisticsAndVersions() {
    assertTrue(client.getStats().values().iterator().next().containsKey("curr_items"));
    assertTrue(client.getStats("settings").values().iterator().next().containsKey("maxconns"));
    assertTrue(client.getVersions().values().iterator().next().matches("\\d+\\.\\d+\\.\\d+.*"));
  }
}
