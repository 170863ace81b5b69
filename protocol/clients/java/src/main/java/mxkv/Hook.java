package mxkv;

/** Sees each request, for example to make a span of OpenTelemetry. Any thread calls it. */
@FunctionalInterface
public interface Hook {
  /** The end of a request with all its retries. */
  @FunctionalInterface
  interface End {
    /** The failure is null if there is none. */
    void end(RuntimeException failure);
  }

  /** Called before a request, with its command, such as {@code mr}, and the server, as {@code host:port}. */
  End begin(String command, String server);
}
