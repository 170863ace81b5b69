package mxkv;

import java.io.EOFException;
import java.io.IOException;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.Semaphore;
import javax.net.ssl.SSLException;

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
    if (options.hook == null) {
      return retry(request, repeat, reading);
    }
    Hook.End end = options.hook.begin(command(request), options.name());
    RuntimeException failure = null;
    try {
      return retry(request, repeat, reading);
    } catch (RuntimeException failed) {
      failure = failed;
      throw failed;
    } finally {
      end.end(failure);
    }
  }

  private static String command(byte[] request) {
    int end = 0;
    while (request[end] > ' ') {
      ++end;
    }
    return new String(request, 0, end, StandardCharsets.ISO_8859_1);
  }

  private <T> T retry(byte[] request, Repeat repeat, Connection.Reading<T> reading) {
    boolean again = repeat == Repeat.ALWAYS || (repeat == Repeat.IF_ASKED && options.retryWrites);
    for (int attempt = 0; ; ++attempt) {
      try {
        return once(request, reading);
      } catch (IOException lost) {
        dropIdle(); // if the server stopped, all of them are lost
        MxkvException failure = named(lost);
        if (!again || failure instanceof MxkvException.Timeout || failure instanceof MxkvException.Tls || attempt >= options.retries) {
          throw failure;
        }
      }
      pause(waitAfterMs(attempt));
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
        throw new MxkvException.Closed();
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

  /** The error of mxkv for an error of a socket. */
  static MxkvException named(IOException lost) {
    String text = lost.getMessage() == null ? lost.toString() : lost.getMessage();
    if (lost instanceof SocketTimeoutException) {
      return new MxkvException.Timeout(text, lost);
    }
    boolean ended = lost.getCause() instanceof EOFException || lost.getCause() instanceof SocketException;
    return lost instanceof SSLException && !ended ? new MxkvException.Tls(text, lost) : new MxkvException.Connection(text, lost);
  }

  /** How long to wait after attempt number {@code attempt}, from 0. */
  static long waitAfterMs(int attempt) {
    return Math.min(1000, 50L << Math.min(attempt, 10));
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
