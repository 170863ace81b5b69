package mxkv;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.function.Function;

/** One line of a reply, and the value behind it if it announces one. Each character of a word is a byte. */
record Reply(List<String> words, byte[] value) {
  private static final int LONGEST_LINE = 1 << 16;

  /** Reads the next one; an error line is thrown. */
  static Reply read(InputStream in) throws IOException {
    String line = line(in);
    MxkvException.Answer error = MxkvException.of(line);
    if (error != null) {
      throw error;
    }
    List<String> words = Arrays.asList(line.split(" ", -1));
    if (!words.get(0).equals("VA") && !words.get(0).equals("WV")) {
      return new Reply(words, null);
    }
    if (words.size() < 2 || !words.get(1).matches("\\d{1,10}") || Long.parseLong(words.get(1)) > 1 << 30) {
      throw new MxkvException.Protocol("no valid length of a value in " + line);
    }
    int size = Integer.parseInt(words.get(1));
    byte[] value = in.readNBytes(size);
    if (value.length < size) {
      throw new EOFException("the connection ended in a value");
    }
    if (next(in) != '\r' || next(in) != '\n') {
      throw new MxkvException.Protocol("a value is longer than announced");
    }
    return new Reply(words, value);
  }

  private static String line(InputStream in) throws IOException {
    byte[] line = new byte[128];
    int size = 0;
    for (int one = next(in); one != '\n'; one = next(in)) {
      if (size == line.length) {
        if (size >= LONGEST_LINE) {
          throw new MxkvException.Protocol("a line of a reply does not end");
        }
        line = Arrays.copyOf(line, 2 * size);
      }
      line[size++] = (byte) one;
    }
    if (size == 0 || line[size - 1] != '\r') {
      throw new MxkvException.Protocol("a line of a reply without CR LF");
    }
    return new String(line, 0, size - 1, StandardCharsets.ISO_8859_1);
  }

  private static int next(InputStream in) throws IOException {
    int one = in.read();
    if (one < 0) {
      throw new EOFException("the connection ended in a reply");
    }
    return one;
  }

  String code() {
    return words.get(0);
  }

  /** What is behind the letters of a flag, or null. */
  String flag(String letters) {
    for (String word : words.subList(Math.min(value == null ? 1 : 2, words.size()), words.size())) {
      if (word.startsWith(letters)) {
        return word.substring(letters.length());
      }
    }
    return null;
  }

  long number(String letters, long otherwise) {
    String text = flag(letters);
    return text == null ? otherwise : parsed(text, Long::parseLong);
  }

  /** The value as an unsigned number. */
  Long count() {
    if (value == null) {
      throw unexpected();
    }
    return parsed(new String(value, StandardCharsets.ISO_8859_1).trim(), Long::parseUnsignedLong);
  }

  <T> T parsed(String text, Function<String, T> parser) {
    try {
      return parser.apply(text);
    } catch (IllegalArgumentException wrong) { // a NumberFormatException is one
      throw unexpected();
    }
  }

  /** The key that a line of a range tells. */
  Key key() {
    String text = flag("k");
    if (text == null) {
      throw unexpected();
    }
    return keyOf(text);
  }

  /** The key of a word of this line, which is in base64 if the line says so. */
  Key keyOf(String text) {
    return Key.of(flag("b") == null ? text.getBytes(StandardCharsets.ISO_8859_1) : parsed(text, Base64.getDecoder()::decode));
  }

  Reply expecting(String code) {
    if (!code().equals(code)) {
      throw unexpected();
    }
    return this;
  }

  MxkvException.Protocol unexpected() {
    return new MxkvException.Protocol("not expected: " + String.join(" ", words));
  }
}
