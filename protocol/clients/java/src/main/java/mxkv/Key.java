package mxkv;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Base64;

/** A key of any bytes, 1 to 250 of them. Ordered by its bytes. */
public final class Key implements Comparable<Key> {
  static final int LONGEST = 250;
  private final byte[] bytes;

  private Key(byte[] bytes) {
    this.bytes = bytes;
  }

  public static Key of(byte[] bytes) {
    return new Key(bytes.clone());
  }

  /** The text as UTF-8. */
  public static Key of(String text) {
    return new Key(text.getBytes(StandardCharsets.UTF_8));
  }

  /** The key of a text in which each character is a byte. */
  static Key ofRaw(String raw) {
    return new Key(raw.getBytes(StandardCharsets.ISO_8859_1));
  }

  public byte[] bytes() {
    return bytes.clone();
  }

  /** Read as UTF-8. */
  @Override
  public String toString() {
    return new String(bytes, StandardCharsets.UTF_8);
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Key key && Arrays.equals(bytes, key.bytes);
  }

  @Override
  public int hashCode() {
    return Arrays.hashCode(bytes);
  }

  @Override
  public int compareTo(Key other) {
    return Arrays.compareUnsigned(bytes, other.bytes);
  }

  boolean startsWith(Key prefix) {
    return bytes.length >= prefix.bytes.length && Arrays.equals(bytes, 0, prefix.bytes.length, prefix.bytes, 0, prefix.bytes.length);
  }

  int length() {
    return bytes.length;
  }

  boolean isEmpty() {
    return bytes.length == 0;
  }

  boolean needsBase64() {
    for (byte one : bytes) {
      if ((one >= 0 && one <= ' ') || one == 0x7f) {
        return true;
      }
    }
    return false;
  }

  /** Each character a byte, as lines are written. */
  String raw() {
    return new String(bytes, StandardCharsets.ISO_8859_1);
  }

  String encoded() {
    return Base64.getEncoder().encodeToString(bytes);
  }

  /** The key as mg, ms, md and ma take it: a word, and the flag b where it has to be base64. */
  String words(String between) {
    if (bytes.length == 0 || bytes.length > LONGEST) {
      throw new MxkvException.Client("a key must have 1 to 250 bytes, not " + bytes.length);
    }
    return needsBase64() ? encoded() + between + " b" : raw() + between;
  }
}
