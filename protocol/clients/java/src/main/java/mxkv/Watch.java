package mxkv;

import java.time.Duration;
import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Iterates over the changes of a range. If the connection is lost it opens another one and goes on behind the last position, for as long as
 * it takes; then the server sends the changes behind that position again. TooOld or HistoryLost is thrown if the server no longer has the
 * changes behind the position: begin another watch without a position, and read the range again. Errors that another attempt would not
 * change, such as Forbidden, are thrown, too. For one thread, but for close, which ends the iteration.
 */
public final class Watch implements Iterable<Changes>, AutoCloseable {
  private final MxkvClient.Builder options;
  private final Range where;
  private final WatchOptions form;
  private final CountDownLatch closing = new CountDownLatch(1);
  private volatile WatchStream stream;
  private String position;

  Watch(MxkvClient.Builder options, Range where, WatchOptions form) {
    this.options = options;
    this.where = where;
    this.form = form;
    for (int attempt = 0; stream == null; ++attempt) {
      try {
        stream = new WatchStream(options, where, form);
      } catch (MxkvException.Connection lost) {
        boolean again = !(lost instanceof MxkvException.Timeout || lost instanceof MxkvException.Tls) && attempt < options.retries;
        if (!again || pause(attempt)) {
          throw lost;
        }
      }
    }
    position = stream.position;
  }

  /** The last one: all changes up to there were returned. */
  public String position() {
    return position;
  }

  /** Waits for changes, or for another position; null if the watch was closed, or the thread interrupted. */
  public Changes next() {
    for (int attempt = 0; closing.getCount() > 0; ++attempt) {
      try {
        if (stream == null) {
          stream = new WatchStream(options, where, form.from(position));
          if (closing.getCount() == 0) { // close did not see this connection
            break;
          }
        }
        Changes found = hear(stream);
        position = found.position().orElse(position);
        return found;
      } catch (MxkvException.Connection lost) {
        drop();
        if (lost instanceof MxkvException.Tls) {
          close();
          throw lost;
        }
        pause(attempt);
      } catch (MxkvException.Closed closed) {
        drop();
      } catch (InterruptedException interrupted) {
        Thread.currentThread().interrupt();
        close();
      } catch (RuntimeException refused) {
        close();
        throw refused;
      }
    }
    drop();
    return null;
  }

  /** A connection that is silent is asked for a mark, to see whether it lives. */
  private Changes hear(WatchStream from) throws InterruptedException {
    Duration patience = options.timeoutMs == 0 ? Duration.ofDays(10_000) : Duration.ofMillis(options.timeoutMs);
    boolean asked = false;
    while (true) {
      Changes.Section found = from.next(patience);
      if (found == null && asked) {
        throw new MxkvException.Timeout("no mark in time", null);
      }
      asked = found == null;
      if (found == null) {
        from.askMark("alive");
      } else if (!found.changes().changes().isEmpty() || !found.changes().position().orElse(position).equals(position)) {
        return found.changes();
      }
    }
  }

  /** Waits before another attempt. True: the watch was closed meanwhile. */
  private boolean pause(int attempt) {
    try {
      return closing.await(Pool.waitAfterMs(attempt), TimeUnit.MILLISECONDS);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      close();
      return true;
    }
  }

  private void drop() {
    WatchStream last = stream;
    if (last != null) {
      last.close();
    }
    stream = null;
  }

  @Override
  public void close() {
    closing.countDown();
    WatchStream last = stream;
    if (last != null) {
      last.close();
    }
  }

  /** Ends where next returns null. */
  @Override
  public Iterator<Changes> iterator() {
    return new Iterator<>() {
      private Changes found;

      @Override
      public boolean hasNext() {
        found = found == null ? Watch.this.next() : found;
        return found != null;
      }

      @Override
      public Changes next() {
        if (!hasNext()) {
          throw new NoSuchElementException();
        }
        Changes taken = found;
        found = null;
        return taken;
      }
    };
  }
}
