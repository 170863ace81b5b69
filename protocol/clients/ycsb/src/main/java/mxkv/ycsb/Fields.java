package mxkv.ycsb;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * A record as one value: for each field the length of its name in two bytes, its name, the length of its content in four, its content.
 */
final class Fields {
  private Fields() {}

  static byte[] encoded(Map<String, byte[]> fields) {
    int size = 0;
    for (Map.Entry<String, byte[]> field : fields.entrySet()) {
      size += 6 + name(field).length + field.getValue().length;
    }
    ByteBuffer value = ByteBuffer.allocate(size);
    for (Map.Entry<String, byte[]> field : fields.entrySet()) {
      byte[] name = name(field);
      value.putShort((short) name.length).put(name).putInt(field.getValue().length).put(field.getValue());
    }
    return value.array();
  }

  /** IllegalArgumentException or BufferUnderflowException if it is no record. */
  static Map<String, byte[]> decoded(byte[] value) {
    Map<String, byte[]> fields = new LinkedHashMap<>();
    ByteBuffer rest = ByteBuffer.wrap(value);
    while (rest.hasRemaining()) {
      String name = new String(taken(rest, rest.getShort() & 0xffff), StandardCharsets.UTF_8);
      fields.put(name, taken(rest, rest.getInt()));
    }
    return fields;
  }

  /** Is this what YCSB writes with dataintegrity? */
  static boolean hasIntegrity(String key, String name, byte[] content) {
    StringBuilder wanted = new StringBuilder(key).append(':').append(name);
    while (wanted.length() < content.length) {
      int hash = wanted.append(':').toString().hashCode();
      wanted.append(hash);
    }
    wanted.setLength(content.length);
    return wanted.toString().equals(new String(content, StandardCharsets.ISO_8859_1));
  }

  private static byte[] name(Map.Entry<String, byte[]> field) {
    return field.getKey().getBytes(StandardCharsets.UTF_8);
  }

  private static byte[] taken(ByteBuffer from, int size) {
    if (size < 0 || size > from.remaining()) {
      throw new IllegalArgumentException("no record: a length of " + size);
    }
    byte[] bytes = new byte[size];
    from.get(bytes);
    return bytes;
  }
}
