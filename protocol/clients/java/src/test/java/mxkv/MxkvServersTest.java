package mxkv;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Proxy;
import java.net.InetSocketAddress;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import net.spy.memcached.DefaultHashAlgorithm;
import net.spy.memcached.KetamaNodeLocator;
import net.spy.memcached.MemcachedNode;
import org.junit.jupiter.api.Test;

class MxkvServersTest {
  private static final List<String> ADDRESSES = List.of("10.0.0.1:11211", "10.0.0.2:11211", "10.0.0.3:7", "10.0.0.4:11211");

  /** A node of spymemcached that only has an address. */
  private static MemcachedNode node(String text) {
    Address address = Address.of(text);
    InetSocketAddress place = new InetSocketAddress(address.host(), address.port());
    return (MemcachedNode) Proxy.newProxyInstance(MemcachedNode.class.getClassLoader(), new Class<?>[] {MemcachedNode.class},
        (proxy, method, arguments) -> switch (method.getName()) {
          case "getSocketAddress" -> place;
          case "hashCode" -> place.hashCode();
          case "equals" -> proxy == arguments[0];
          default -> place.toString();
        });
  }

  @Test
  void keysBelongToTheServersThatSpymemcachedChooses() {
    KetamaNodeLocator theirs =
        new KetamaNodeLocator(ADDRESSES.stream().map(MxkvServersTest::node).toList(), DefaultHashAlgorithm.KETAMA_HASH);
    try (MxkvServers ours = new MxkvServers(ADDRESSES)) {
      Set<String> chosen = new HashSet<>();
      for (int number = 0; number < 5000; ++number) {
        String key = "schlüssel:" + number;
        String wanted = theirs.getPrimary(key).getSocketAddress().toString().substring(1);
        chosen.add(wanted);
        assertSame(ours.clients().get(wanted), ours.clientOf(key), key);
      }
      assertEquals(Set.copyOf(ADDRESSES), chosen);
    }
  }

  @Test
  void anAddedServerTakesKeysAndOthersKeepTheirs() {
    try (MxkvServers before = new MxkvServers(ADDRESSES.subList(0, 3)); MxkvServers after = new MxkvServers(ADDRESSES)) {
      List<String> moved = Stream.iterate(0, number -> number + 1).limit(1000).map(number -> "k" + number)
          .filter(key -> !name(before, key).equals(name(after, key))).toList();
      assertTrue(moved.size() > 100 && moved.size() < 450, () -> moved.size() + " moved");
      moved.forEach(key -> assertEquals("10.0.0.4:11211", name(after, key)));
    }
  }

  private static String name(MxkvServers servers, String key) {
    MxkvClient wanted = servers.clientOf(key);
    return servers.clients().entrySet().stream().filter(entry -> entry.getValue() == wanted).findAny().orElseThrow().getKey();
  }

  @Test
  void noServersAreRefused() {
    assertThrows(MxkvException.BadAddress.class, () -> new MxkvServers(List.of()));
  }
}
