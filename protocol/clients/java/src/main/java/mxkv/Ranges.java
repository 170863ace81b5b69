package mxkv;

import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.OptionalDouble;

/** Requests on ranges. */
final class Ranges {
  private final Pool pool;

  Ranges(Pool pool) {
    this.pool = pool;
  }

  record Part<T>(List<T> parts, String cursor) {}

  interface Next<T> {
    Part<T> after(String cursor, long seen);
  }

  /** Page by page; null ends it. */
  static <T> Iterator<T> walk(Next<T> next) {
    return new Iterator<>() {
      private Part<T> page = next.after(null, 0);
      private int at;
      private long seen;

      @Override
      public boolean hasNext() {
        while (page != null && at == page.parts().size()) {
          seen += at;
          at = 0;
          page = page.cursor() == null ? null : next.after(page.cursor(), seen);
        }
        return page != null;
      }

      @Override
      public T next() {
        if (!hasNext()) {
          throw new NoSuchElementException();
        }
        return page.parts().get(at++);
      }
    };
  }

  /** Null where the limit leaves nothing. */
  Part<Item> page(Range where, ScanOptions how, String cursor, long seen) {
    long most = Math.min(how.pageItems(), how.limit() - seen);
    if (most <= 0) {
      return null;
    }
    String line = "mr " + where.words(how.reverse()) + " A" + most + " c t" + (how.keysOnly() ? "" : " v f") + (how.snapshot() ? " X" : "");
    return pool.ask(Lines.of(goingOn(line, cursor)), Pool.Repeat.ALWAYS, in -> {
      List<Item> items = new ArrayList<>();
      Reply reply = Reply.read(in);
      for (; reply.code().equals("VA") || reply.code().equals("HD"); reply = Reply.read(in)) {
        items.add(Item.of(reply, null));
      }
      return new Part<>(items, reply.expecting("EN").flag("G"));
    });
  }

  Size size(Range where, String how) {
    Reply reply = one("mc " + where.words(false) + how, Pool.Repeat.ALWAYS);
    String within = reply.flag("~");
    OptionalDouble estimate = within == null ? OptionalDouble.empty() : OptionalDouble.of(reply.parsed(within, Double::parseDouble));
    return new Size(reply.number("A", 0), reply.number("B", 0), estimate);
  }

  Map<String, String> stats(String group) {
    return pool.ask(Lines.of(("stats " + group).trim()), Pool.Repeat.ALWAYS, in -> {
      Map<String, String> found = new LinkedHashMap<>();
      Reply reply = Reply.read(in);
      for (; reply.code().equals("STAT") && reply.words().size() > 1; reply = Reply.read(in)) {
        found.put(reply.words().get(1), String.join(" ", reply.words().subList(2, reply.words().size())));
      }
      if (!reply.code().equals("RESET")) {
        reply.expecting("END");
      }
      return found;
    });
  }

  Numbers numbers(Range where) {
    Reply reply = one("mc " + where.words(false) + " Msnx", Pool.Repeat.ALWAYS);
    return new Numbers(reply.number("A", 0), reply.number("N", 0), big(reply, "Ms").orElse(BigInteger.ZERO), big(reply, "Mn"), big(reply, "Mx"));
  }

  Part<Branch> branches(Range where, Key delimiter, String cursor) {
    String line = goingOn("mc " + where.words(false) + " e D" + delimiter.raw(), cursor);
    return pool.ask(Lines.of(line), Pool.Repeat.ALWAYS, in -> {
      List<Branch> found = new ArrayList<>();
      Reply reply = Reply.read(in);
      for (; reply.code().equals("HD"); reply = Reply.read(in)) {
        found.add(new Branch(Optional.of(reply.key()), reply.number("A", 0), reply.number("B", 0)));
      }
      if (reply.expecting("EN").number("K", 0) > 0) {
        found.add(new Branch(Optional.empty(), reply.number("K", 0), reply.number("B", 0)));
      }
      return new Part<>(found, reply.flag("G"));
    });
  }

  long remove(Range where, String how) {
    if (where.isEmptyPrefix()) {
      throw new MxkvException.Client("an empty prefix would delete all keys: name them by Range.all()");
    }
    long total = 0;
    String cursor = null;
    do {
      Reply reply = one(goingOn("mx " + where.words(false) + how, cursor), Pool.Repeat.IF_ASKED);
      total += reply.number("A", 0);
      cursor = reply.flag("G");
    } while (cursor != null);
    return total;
  }

  Reply one(String line, Pool.Repeat repeat) {
    return pool.ask(Lines.of(line), repeat, in -> Reply.read(in).expecting("HD"));
  }

  private static String goingOn(String line, String cursor) {
    if (cursor == null) {
      return line;
    }
    if (Key.of(cursor).needsBase64()) {
      throw new MxkvException.BadCursor("a cursor must not have blanks or control bytes");
    }
    return line + " G" + cursor;
  }

  private static Optional<BigInteger> big(Reply reply, String letters) {
    return Optional.ofNullable(reply.flag(letters)).map(text -> reply.parsed(text, BigInteger::new));
  }
}
