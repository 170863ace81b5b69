package mxkv;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;

/** One connection with one watch. A thread reads its sections. */
final class WatchStream implements AutoCloseable {
  private static final int QUEUED = 64; // sections that wait for the program before the thread stops to read

  /** A section, or the error that ended the connection. */
  private record News(Changes.Section section, MxkvException failure) {}

  private final Connection connection;
  private final BlockingQueue<News> news = new ArrayBlockingQueue<>(QUEUED);
  private final Thread reader;
  private volatile boolean closed;
  /** Behind which it began. */
  final String position;

  WatchStream(MxkvClient.Builder options, Range where, WatchOptions form) {
    byte[] line = form.line(where);
    Hook.End end = options.hook == null ? null : options.hook.begin("mw", options.name());
    RuntimeException failure = null;
    Connection made = null;
    try {
      made = new Connection(options);
      made.send(line);
      position = made.receive(Changes::begun);
      made.waitForEver();
      connection = made;
    } catch (IOException lost) {
      failure = Pool.named(lost);
      throw failure;
    } catch (RuntimeException refused) {
      failure = refused;
      throw refused;
    } finally {
      if (failure != null && made != null) {
        made.close();
      }
      if (end != null) {
        end.end(failure);
      }
    }
    reader = new Thread(this::read, "mxkv watch");
    reader.setDaemon(true);
    reader.start();
  }

  private void read() {
    try {
      while (true) {
        news.put(new News(connection.receive(Changes::read), null));
      }
    } catch (IOException | RuntimeException failure) {
      MxkvException known = failure instanceof IOException lost ? Pool.named(lost)
          : failure instanceof MxkvException named ? named : new MxkvException.Protocol(failure.toString());
      put(new News(null, known));
    } catch (InterruptedException ended) {
      // by close
    }
  }

  private void put(News last) {
    try {
      news.put(last);
    } catch (InterruptedException ended) {
      // by close
    }
  }

  /** Asks for a mark: the server sends all changes up to now, and then a section with this mark. */
  void askMark(String mark) {
    try {
      connection.send(("mu Ow m" + mark + "\r\n").getBytes(StandardCharsets.ISO_8859_1));
    } catch (IOException lost) {
      throw Pool.named(lost);
    }
  }

  /** The next section; null if there is none in time. */
  Changes.Section next(Duration patience) throws InterruptedException {
    News found = news.poll(Math.max(0, patience.toNanos()), TimeUnit.NANOSECONDS);
    if (found != null && found.failure() != null) {
      throw closed ? new MxkvException.Closed() : found.failure();
    }
    return found == null ? null : found.section();
  }

  /** Any thread may call it; a thread that waits in next gets Closed. */
  @Override
  public void close() {
    closed = true;
    connection.close();
    reader.interrupt();
    news.clear();
    news.offer(new News(null, new MxkvException.Closed()));
  }
}
