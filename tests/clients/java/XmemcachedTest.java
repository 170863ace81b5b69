import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import net.rubyeye.xmemcached.CASOperation;
import net.rubyeye.xmemcached.GetsResponse;
import net.rubyeye.xmemcached.MemcachedClient;
import net.rubyeye.xmemcached.CommandFactory;
import net.rubyeye.xmemcached.XMemcachedClientBuilder;
import net.rubyeye.xmemcached.command.TextCommandFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Xmemcached, which writes several requests in one packet and has touch and get-and-touch. */
class XmemcachedTest {
  private MemcachedClient client;

  /** Which protocol it speaks. */
  CommandFactory commands() {
    return new TextCommandFactory();
  }

  @BeforeEach
  void connect() throws Exception {
    XMemcachedClientBuilder builder = new XMemcachedClientBuilder(List.of(Place.address()));
    builder.setCommandFactory(commands());
    client = builder.build();
    client.setOpTimeout(20_000);
    client.flushAll();
  }

  @AfterEach
  void disconnect() throws Exception {
    client.shutdown();
  }

  @Test
  void storageVerbs() throws Exception {
    assertTrue(client.set("k", 0, "v"));
    assertFalse(client.add("k", 0, "w"));
    assertTrue(client.replace("k", 0, "w"));
    assertTrue(client.append("k", ">"));
    assertTrue(client.prepend("k", "<"));
    assertEquals("<w>", client.get("k"));
    assertTrue(client.delete("k"));
    assertFalse(client.delete("k"));
    assertNull(client.get("k"));
  }

  @Test
  void manyKeys() throws Exception {
    Map<String, Integer> wanted = IntStream.range(0, 300).boxed().collect(Collectors.toMap(n -> "many" + n, n -> n));
    for (Map.Entry<String, Integer> entry : wanted.entrySet()) {
      client.setWithNoReply(entry.getKey(), 0, entry.getValue());
    }
    Collection<String> keys = new ArrayList<>(wanted.keySet());
    keys.add("absent");
    assertEquals(wanted, client.get(keys));
    Map<String, GetsResponse<Integer>> found = client.gets(keys);
    assertEquals(wanted.size(), found.size());
    assertEquals(17, found.get("many17").getValue());
  }

  @Test
  void counters() throws Exception {
    assertEquals(7, client.incr("n", 5, 7));
    assertEquals(12, client.incr("n", 5, 7));
    assertEquals(0, client.decr("n", 100));
    assertEquals(3, client.getCounter("other", 3).incrementAndGet() - 1);
  }

  @Test
  void casAmongThreads() throws Exception {
    client.set("sum", 0, 0);
    List<Thread> threads = new ArrayList<>();
    for (int number = 0; number < 8; ++number) {
      Thread thread = new Thread(() -> {
        for (int round = 0; round < 25; ++round) {
          try {
            client.cas("sum", 0, new CASOperation<Integer>() {
              @Override
              public int getMaxTries() {
                return 10_000;
              }

              @Override
              public Integer getNewValue(long unique, Integer now) {
                return now + 1;
              }
            });
          } catch (Exception failure) {
            throw new AssertionError(failure);
          }
        }
      });
      threads.add(thread);
      thread.start();
    }
    for (Thread thread : threads) {
      thread.join();
    }
    assertEquals(200, client.<Integer>get("sum"));
  }

  @Test
  void casOnceWithAnOldUnique() throws Exception {
    client.set("k", 0, "first");
    GetsResponse<String> seen = client.gets("k");
    assertTrue(client.cas("k", 0, "second", seen.getCas()));
    assertFalse(client.cas("k", 0, "third", seen.getCas()));
    assertEquals("second", client.get("k"));
  }

  @Test
  void lifetimes() throws Exception {
    client.set("short", 1, "v");
    client.set("kept", 1, "v");
    assertTrue(client.touch("kept", 1000));
    Place.waitFor("the short-lived key is gone", () -> client.get("short") == null);
    assertEquals("v", client.get("kept"));
  }

  @Test
  void largeValues() throws Exception {
    byte[] large = Place.bytes(1_000_000);
    client.getTranscoder().setCompressionThreshold(Integer.MAX_VALUE);
    assertTrue(client.set("large", 0, large));
    assertArrayEquals(large, client.<byte[]>get("large"));
  }

  @Test
  void statistics() throws Exception {
    Map<String, String> stats = client.getStats().values().iterator().next();
    assertTrue(stats.containsKey("curr_items"));
    assertTrue(client.getVersions().values().iterator().next().matches("\\d+\\.\\d+\\.\\d+.*"));
  }
}
