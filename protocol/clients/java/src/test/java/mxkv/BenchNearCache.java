package mxkv;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;

/**
 * Prints how many hits of a near cache one thread, and one for each CPU, gets in a second. Stores ten thousand items at the server of
 * MXKV_PORT, and deletes them.
 */
final class BenchNearCache {
  private static final int ITEMS = 10_000;
  private static final long SECONDS = 3;

  private BenchNearCache() {}

  public static void main(String[] arguments) throws InterruptedException {
    List<String> keys = IntStream.range(0, ITEMS).mapToObj(number -> "bench:near:" + number).toList();
    try (MxkvClient client = MxkvClient.connect("127.0.0.1", Integer.parseInt(System.getenv("MXKV_PORT")))) {
      keys.forEach(key -> client.set(key, "x".repeat(100)));
      try (NearCache near = client.nearCache(Range.prefix("bench:near:"), 64 << 20, Duration.ofSeconds(10))) {
        while (near.entries() < ITEMS || !near.isLive()) {
          keys.forEach(near::get);
        }
        run(near, keys, 1); // until it is compiled
        for (int threads : new int[] {1, Runtime.getRuntime().availableProcessors()}) {
          System.out.printf("Java, %d threads: %,d hits/s%n", threads, run(near, keys, threads));
        }
      }
      client.deleteRange(Range.prefix("bench:near:"));
    }
  }

  private static long run(NearCache near, List<String> keys, int count) throws InterruptedException {
    long[] hits = new long[count];
    long begin = System.nanoTime();
    List<Thread> threads = IntStream.range(0, count).mapToObj(number -> new Thread(() -> {
      while (System.nanoTime() - begin < TimeUnit.SECONDS.toNanos(SECONDS)) {
        for (String key : keys) {
          hits[number] += near.get(key).isPresent() ? 1 : 0;
        }
      }
    })).toList();
    threads.forEach(Thread::start);
    for (Thread thread : threads) {
      thread.join();
    }
    long all = 0;
    for (long each : hits) {
      all += each;
    }
    return (long) (all / ((System.nanoTime() - begin) / 1e9));
  }
}
