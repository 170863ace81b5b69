package mxkv;

import java.io.IOException;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.Semaphore;
import javax.net.ssl.SSLHandshakeException;
import javax.net.ssl.SSLPeerUnverifiedException;

/** Connections for any number of threads, and when a request is sent again. */
final class Pool implements AutoCloseable {
  /** May a request be sent again if nobody knows whether it took effect? */
  enum Repeat {
    ALWAYS, // it changes nothing
    IF_ASKED, // it is idempotent
    NEVER
  }

  private final MxkvClient.Builder options;
  private final Semaphore room;
  private final ConcurrentLinkedDeque<Connection> idle = new ConcurrentLinkedDeque<>();
  private volatile boolean closed;

  Pool(MxkvClient.Builder options) {
    this.options = options;
    room = new Semaphore(options.maxConnections);
  }

  <T> T ask(byte[] request, Repeat repeat, Connection.Reading<T> reading) {
    boolean again = repeat == Repeat.ALWAYS || (repeat == Repeat.IF_ASKED && options.retryWrites);
    long waitMs = 50;
    for (int attempt = 0; ; ++attempt) {
      try {
        return once(request, reading);
      } catch (IOException lost) {
        dropIdle(); // if the server stopped, all of them are lost
        boolean distrusted = lost instanceof SSLHandshakeException || lost instanceof SSLPeerUnverifiedException;
        boolean late = lost instanceof java.net.SocketTimeoutException;
        if (!again || distrusted || late || attempt >= options.retries) {
          throw new MxkvException.Connection(String.valueOf(lost.getMessage()), lost);
        }
      }
      pause(waitMs);
      waitMs = Math.min(1000, 2 * waitMs);
    }
  }

  private <T> T once(byte[] request, Connection.Reading<T> reading) throws IOException {
    try {
      room.acquire();
    } catch (InterruptedException interrupted) {
      throw cancelled(interrupted);
    }
    try {
      if (closed) {
        throw new IllegalStateException("the client is closed");
      }
      Connection connection = idle.pollLast();
      if (connection == null) {
        connection = new Connection(options);
      }
      boolean inStep = false;
      try {
        T result = connection.ask(request, reading);
        inStep = true;
        return result;
      } catch (MxkvException.Answer answer) {
        inStep = connection.isInStep();
        throw answer;
      } finally {
        if (inStep && !closed) {
          idle.addLast(connection);
        } else {
          connection.close();
        }
      }
    } finally {
      room.release();
    }
  }

  private static void pause(long milliseconds) {
    try {
      Thread.sleep(milliseconds);
    } catch (InterruptedException interrupted) {
      throw cancelled(interrupted);
    }
  }

  private static MxkvException cancelled(InterruptedException interrupted) {
    Thread.currentThread().interrupt();
    return new MxkvException.Connection("interrupted", interrupted);
  }

  private void dropIdle() {
    for (Connection connection = idle.pollLast(); connection != null; connection = idle.pollLast()) {
      connection.close();
    }
  }

  @Override
  public void close() {
    closed = true;
    dropIdle();
  }
}
