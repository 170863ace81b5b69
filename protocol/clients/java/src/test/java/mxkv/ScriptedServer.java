package mxkv;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/**
 * Answers in the order that a test chooses: {@code mw} by answers one after the other, the last of them for ever, and marks while
 * {@code answersMarks}. Other requests wait.
 */
final class ScriptedServer implements AutoCloseable {
  static final String FRESH = "HD Ow G0123456789abcdef.1";
  final List<String> watchLines = Collections.synchronizedList(new ArrayList<>());
  volatile boolean answersMarks = true;
  private final ServerSocket listener;
  private final List<Socket> all = Collections.synchronizedList(new ArrayList<>());
  private final List<String> answers;
  private final LinkedBlockingQueue<Socket> waiting = new LinkedBlockingQueue<>();
  private volatile Socket watch;

  ScriptedServer(String... answers) throws IOException {
    this.answers = new ArrayList<>(Arrays.asList(answers));
    listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    start(this::accept);
  }

  static void waitFor(String what, BooleanSupplier condition) {
    for (long end = System.nanoTime() + TimeUnit.MINUTES.toNanos(1); !condition.getAsBoolean(); sleep(1)) {
      if (System.nanoTime() > end) {
        throw new AssertionError("not in a minute: " + what);
      }
    }
  }

  static void sleep(long milliseconds) {
    try {
      Thread.sleep(milliseconds);
    } catch (InterruptedException interrupted) {
      throw new AssertionError(interrupted);
    }
  }

  static void start(Runnable work) {
    Thread thread = new Thread(work);
    thread.setDaemon(true);
    thread.start();
  }

  int port() {
    return listener.getLocalPort();
  }

  private void accept() {
    try {
      while (true) {
        Socket near = listener.accept();
        all.add(near);
        start(() -> serve(near));
      }
    } catch (IOException closed) {
      // by the test
    }
  }

  private void serve(Socket near) {
    try (BufferedReader in = new BufferedReader(new InputStreamReader(near.getInputStream(), StandardCharsets.ISO_8859_1))) {
      for (String line = in.readLine(); line != null; line = in.readLine()) {
        if (line.startsWith("mw ")) {
          String answer;
          synchronized (answers) {
            answer = answers.size() > 1 ? answers.remove(0) : answers.get(0);
          }
          watch = near;
          watchLines.add(line);
          write(near, answer + "\r\n");
        } else if (!line.startsWith("mu ")) {
          waiting.add(near);
        } else if (answersMarks) {
          write(near, "HD Ow\r\nWS Ow\r\nWE Ow G0123456789abcdef.1 " + line.split(" ")[2] + "\r\n");
        }
      }
    } catch (IOException cut) {
      // by the test, or by the client
    }
  }

  private static void write(Socket to, String text) throws IOException {
    to.getOutputStream().write(text.getBytes(StandardCharsets.ISO_8859_1));
  }

  void say(String line) throws IOException {
    write(watch, line + "\r\n");
  }

  /** Pushes a section. */
  void tell(String... lines) throws IOException {
    say("WS Ow\r\n" + String.join("\r\n", lines) + "\r\nWE Ow G0123456789abcdef.2");
  }

  void waitForRequest() {
    waitFor("a request comes", () -> !waiting.isEmpty());
  }

  /** Answers the oldest request that waits. */
  void answer(String reply) throws IOException {
    waitForRequest();
    write(waiting.remove(), reply + "\r\n");
  }

  void cutAll() throws IOException {
    synchronized (all) {
      for (Socket one : all) {
        one.close();
      }
    }
  }

  @Override
  public void close() throws IOException {
    listener.close();
    cutAll();
  }
}
