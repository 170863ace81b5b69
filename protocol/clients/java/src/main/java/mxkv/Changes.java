package mxkv;

import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;

/**
 * Changes in the order in which they happened to each key.
 *
 * @param position if there is one, all changes up to this point were sent. Together they make one consistent state, and a watch may go on
 *     behind it. If there is none, changes of the same moment follow.
 */
public record Changes(List<Change> changes, Optional<String> position) implements Iterable<Change> {
  @Override
  public Iterator<Change> iterator() {
    return changes.iterator();
  }

  /** A section: changes, and the request for a mark that it answers, or null. */
  record Section(Changes changes, String mark) {}

  /** Reads the next section. TooOld, HistoryLost and Connection are thrown if the watch is over. */
  static Section read(InputStream in) throws IOException {
    while (true) {
      Reply reply = Reply.read(in);
      switch (reply.code()) {
        case "WS":
          return rest(in);
        case "WO":
          throw over(reply);
        default:
          if (reply.code().startsWith("W")) {
            throw reply.unexpected();
          } // else it is the answer to a request for a mark
      }
    }
  }

  private static Section rest(InputStream in) throws IOException {
    List<Change> found = new ArrayList<>();
    Reply reply = Reply.read(in);
    for (; !reply.code().equals("WE"); reply = Reply.read(in)) {
      if (!reply.code().equals("WB")) { // an application that wants batches whole applies all changes up to a position at once
        found.add(Change.of(reply));
      }
    }
    Optional<String> position = Optional.ofNullable(reply.flag("G"));
    if (position.isPresent() && position.get().isEmpty()) {
      throw reply.unexpected();
    }
    return new Section(new Changes(found, position), reply.flag("m"));
  }

  /** The position behind which a watch begins, from the answer to its line. */
  static String begun(InputStream in) throws IOException {
    Reply reply = Reply.read(in);
    if (reply.code().equals("EX")) {
      throw over(reply);
    }
    String position = reply.expecting("HD").flag("G");
    if (position == null || position.isEmpty()) {
      throw reply.unexpected();
    }
    return position;
  }

  /** The error of EX or WO. */
  private static MxkvException over(Reply reply) {
    return switch (reply.words().size() > 2 ? reply.words().get(2) : "") {
      case "old" -> new MxkvException.TooOld();
      case "lost" -> new MxkvException.HistoryLost();
      case "ends" -> new MxkvException.Connection("the server ends", null); // the watch may go on when it is back
      default -> reply.unexpected();
    };
  }
}
