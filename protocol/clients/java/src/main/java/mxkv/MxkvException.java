package mxkv;

import java.util.OptionalInt;

/** The base of all errors of servers and connections. */
public class MxkvException extends RuntimeException {
  private static final long serialVersionUID = 1;

  MxkvException(String text, Throwable cause) {
    super(text, cause);
  }

  /** The server said no; the connection stays in step. */
  public static class Answer extends MxkvException {
    private static final long serialVersionUID = 1;
    private int operation = -1;

    Answer(String text) {
      super(text, null);
    }

    /** The number of the failed operation of a batch or pipeline, from 0. */
    public OptionalInt operation() {
      return operation < 0 ? OptionalInt.empty() : OptionalInt.of(operation);
    }

    Answer at(int number) {
      operation = number;
      return this;
    }
  }

  /** The request is wrong; it has had no effect. */
  public static class Client extends Answer {
    private static final long serialVersionUID = 1;

    Client(String text) {
      super(text);
    }
  }

  /** No cursor, or one of another range. */
  public static class BadCursor extends Client {
    private static final long serialVersionUID = 1;

    BadCursor(String text) {
      super(text);
    }
  }

  /** More keys than may be changed at once; nothing was done. */
  public static class RangeTooLarge extends Client {
    private static final long serialVersionUID = 1;

    RangeTooLarge(String text) {
      super(text);
    }
  }

  /** Not logged in, a wrong password, or this user may not. */
  public static class Forbidden extends Client {
    private static final long serialVersionUID = 1;

    Forbidden(String text) {
      super(text);
    }
  }

  /** Wrong name or password. */
  public static class AuthenticationFailed extends Forbidden {
    private static final long serialVersionUID = 1;

    AuthenticationFailed(String text) {
      super(text);
    }
  }

  /** The request may be right, but cannot be done now. */
  public static class Server extends Answer {
    private static final long serialVersionUID = 1;

    Server(String text) {
      super(text);
    }
  }

  /** The value is larger than the server takes. */
  public static class TooLarge extends Server {
    private static final long serialVersionUID = 1;

    TooLarge(String text) {
      super(text);
    }
  }

  /** No memory is left, and nothing may or can go. */
  public static class OutOfMemory extends Server {
    private static final long serialVersionUID = 1;

    OutOfMemory(String text) {
      super(text);
    }
  }

  /** The server cannot write its journal now, so it refused the change. */
  public static class JournalFailed extends Server {
    private static final long serialVersionUID = 1;

    JournalFailed(String text) {
      super(text);
    }
  }

  /** In a batch or pipeline: there is no such key. */
  public static class NotFound extends Answer {
    private static final long serialVersionUID = 1;

    NotFound() {
      super("there is no such key");
    }
  }

  /** In a batch or pipeline: an add on something, or a replace, append or prepend on nothing. */
  public static class NotStored extends Answer {
    private static final long serialVersionUID = 1;

    NotStored() {
      super("not stored");
    }
  }

  /** The key has another unique by now. */
  public static class Stale extends Answer {
    private static final long serialVersionUID = 1;

    Stale() {
      super("the key has another unique by now");
    }
  }

  /** The server no longer has the changes behind the position of a watch. Begin a watch without a position, then read the range. */
  public static class TooOld extends Answer {
    private static final long serialVersionUID = 1;

    TooOld() {
      super("the server no longer has the changes behind this position");
    }
  }

  /**
   * The position of a watch is of another process of the server, or of another server. Begin a watch without a position, then read the
   * range.
   */
  public static class HistoryLost extends Answer {
    private static final long serialVersionUID = 1;

    HistoryLost() {
      super("the position is of another process of the server, or of another server");
    }
  }

  /** No connection, it was lost, or no reply came in time. Whether a write took effect is not known. */
  public static class Connection extends MxkvException {
    private static final long serialVersionUID = 1;

    Connection(String text, Throwable cause) {
      super(text, cause);
    }
  }

  /** No reply in time. Whether a write took effect is not known. */
  public static class Timeout extends Connection {
    private static final long serialVersionUID = 1;

    Timeout(String text, Throwable cause) {
      super(text, cause);
    }
  }

  /** TLS failed, for example because a certificate is not trusted or missing. Not retried. */
  public static class Tls extends Connection {
    private static final long serialVersionUID = 1;

    Tls(String text, Throwable cause) {
      super(text, cause);
    }
  }

  /** The text is no address of a server. */
  public static class BadAddress extends MxkvException {
    private static final long serialVersionUID = 1;

    BadAddress(String text) {
      super(text, null);
    }
  }

  /** The client is closed. */
  public static class Closed extends MxkvException {
    private static final long serialVersionUID = 1;

    Closed() {
      super("the client is closed", null);
    }
  }

  /** What came is no reply of mxkv. */
  public static class Protocol extends MxkvException {
    private static final long serialVersionUID = 1;

    Protocol(String text) {
      super(text, null);
    }
  }

  /** The error that a line of a reply is, or null. */
  static Answer of(String line) {
    if (line.startsWith("CLIENT_ERROR ")) {
      String text = line.substring(13);
      if (text.equals("bad cursor") || text.equals("the cursor leads out of the range")) {
        return new BadCursor(text);
      }
      if (text.startsWith("too many keys in the range")) {
        return new RangeTooLarge(text);
      }
      if (text.startsWith("authentication failure")) {
        return new AuthenticationFailed(text);
      }
      boolean forbidden = text.startsWith("unauthenticated") || text.startsWith("forbidden");
      return forbidden ? new Forbidden(text) : new Client(text);
    }
    if (line.startsWith("SERVER_ERROR ")) {
      String text = line.substring(13);
      if (text.startsWith("object too large")) {
        return new TooLarge(text);
      }
      if (text.startsWith("journal")) {
        return new JournalFailed(text);
      }
      return text.startsWith("out of memory") ? new OutOfMemory(text) : new Server(text);
    }
    return line.startsWith("ERROR") ? new Client(line) : null;
  }

  /** Why an operation, counted from 0, kept a batch from being done. */
  static Answer ofBatch(int number, String why) {
    Answer found = ofCode(why);
    found = found == null ? of(why) : found;
    return (found == null ? new Client(why) : found).at(number);
  }

  /** The error that the code of a reply to an operation stands for, or null. */
  static Answer ofCode(String code) {
    return switch (code) {
      case "NF" -> new NotFound();
      case "NS" -> new NotStored();
      case "EX" -> new Stale();
      default -> null;
    };
  }
}
