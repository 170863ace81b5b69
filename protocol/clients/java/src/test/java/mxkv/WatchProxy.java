package mxkv;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Stands in front of a server. A connection that began a watch is cut after about {@code cutEvery} bytes of its lines, at random. Each half
 * second the proxy chooses how long lines of watches are on their way: not at all, or up to {@code delayMs}; replies to others a twentieth.
 */
final class WatchProxy implements AutoCloseable {
  private record Piece(long cameNs, byte[] data) {}

  final AtomicInteger cuts = new AtomicInteger();
  final AtomicInteger reads = new AtomicInteger();
  /** How often lines of a watch were held back for more than half of {@code delayMs}. */
  final AtomicInteger delays = new AtomicInteger();
  private final ServerSocket listener;
  private final int target;
  private final int cutEvery;
  private final int delayMs;

  WatchProxy(int target, int cutEvery, int delayMs) throws IOException {
    this.target = target;
    this.cutEvery = cutEvery;
    this.delayMs = delayMs;
    listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    ScriptedServer.start(() -> {
      try {
        while (true) {
          new Pair(listener.accept(), new Socket("127.0.0.1", target)).start();
        }
      } catch (IOException closed) {
        // by the test
      }
    });
  }

  int port() {
    return listener.getLocalPort();
  }

  @Override
  public void close() throws IOException {
    listener.close();
  }

  private interface Work {
    void run() throws IOException, InterruptedException;
  }

  /** A connection of a client, and its connection to the server. */
  private final class Pair {
    private final Socket near;
    private final Socket far;
    private final LinkedBlockingQueue<Piece> pieces = new LinkedBlockingQueue<>();
    private volatile boolean watches;

    Pair(Socket near, Socket far) throws IOException {
      this.near = near;
      this.far = far;
      near.setTcpNoDelay(true);
      far.setTcpNoDelay(true);
    }

    void start() {
      start(this::toServer);
      start(this::fromServer);
      start(this::toClient);
    }

    private void start(Work work) {
      ScriptedServer.start(() -> {
        try {
          work.run();
        } catch (IOException | InterruptedException ended) {
          // by either side
        }
        pieces.add(new Piece(0, new byte[0]));
      });
    }

    private void toServer() throws IOException {
      byte[] buffer = new byte[1 << 14];
      for (int size = near.getInputStream().read(buffer); size > 0; size = near.getInputStream().read(buffer)) {
        String text = new String(buffer, 0, size, StandardCharsets.ISO_8859_1);
        reads.addAndGet(text.split("mg ", -1).length - 1);
        watches |= text.startsWith("mw ");
        far.getOutputStream().write(buffer, 0, size);
      }
    }

    private void fromServer() throws IOException {
      byte[] buffer = new byte[1 << 14];
      for (int size = far.getInputStream().read(buffer); size > 0; size = far.getInputStream().read(buffer)) {
        pieces.add(new Piece(System.nanoTime(), Arrays.copyOf(buffer, size)));
      }
    }

    private void toClient() throws IOException, InterruptedException {
      try (near; far) {
        ThreadLocalRandom chance = ThreadLocalRandom.current();
        long latencyNs = 0;
        long chosenNs = System.nanoTime() - TimeUnit.SECONDS.toNanos(1);
        int left = -1;
        for (Piece piece = pieces.take(); piece.data().length > 0; piece = pieces.take()) {
          if (delayMs > 0) {
            if (piece.cameNs() - chosenNs > TimeUnit.MILLISECONDS.toNanos(500)) {
              long most = TimeUnit.MILLISECONDS.toNanos(delayMs);
              latencyNs = chance.nextInt(2) * chance.nextLong(most) / (watches ? 1 : 20);
              chosenNs = piece.cameNs();
              delays.addAndGet(watches && latencyNs > most / 2 ? 1 : 0);
            }
            TimeUnit.NANOSECONDS.sleep(piece.cameNs() + latencyNs - System.nanoTime());
          }
          if (watches && cutEvery > 0) {
            left = left < 0 ? chance.nextInt(2 * cutEvery) : left;
            if (left < piece.data().length) {
              near.getOutputStream().write(piece.data(), 0, left);
              cuts.incrementAndGet();
              return;
            }
            left -= piece.data().length;
          }
          near.getOutputStream().write(piece.data());
        }
      }
    }
  }
}
