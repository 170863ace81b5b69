import java.net.InetSocketAddress;
import java.util.concurrent.Callable;

/** Where the server is, and how long to wait for what it does in time. */
final class Place {
  private Place() {}

  static InetSocketAddress address() {
    return new InetSocketAddress("127.0.0.1", Integer.parseInt(System.getenv("MXKV_PORT")));
  }

  /** Looks until it is so; an upper bound on waiting, never a measure. */
  static void waitFor(String what, Callable<Boolean> isSo) throws Exception {
    long deadline = System.nanoTime() + 20_000_000_000L;
    while (!isSo.call()) {
      if (System.nanoTime() > deadline) {
        throw new AssertionError("did not happen in time: " + what);
      }
      Thread.sleep(50);
    }
  }

  static byte[] bytes(int count) {
    byte[] made = new byte[count];
    for (int at = 0; at < count; ++at) {
      made[at] = (byte) (at * 31);
    }
    return made;
  }
}
