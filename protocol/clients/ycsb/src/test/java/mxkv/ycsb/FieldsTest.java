package mxkv.ycsb;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;

class FieldsTest {
  @Test
  void recordsComeBackWholeAndWhatIsNoneIsRefused() {
    Map<String, byte[]> fields = new LinkedHashMap<>();
    fields.put("field0", new byte[] {0, '\r', '\n', -1});
    fields.put("f\u00e4", new byte[0]);
    byte[] value = Fields.encoded(fields);
    Map<String, byte[]> back = Fields.decoded(value);
    assertEquals(fields.keySet(), back.keySet());
    back.forEach((name, content) -> assertArrayEquals(fields.get(name), content));
    assertTrue(Fields.decoded(new byte[0]).isEmpty());
    int first = 6 + 6 + 4;
    for (int size = 1; size < value.length; ++size) {
      byte[] cut = Arrays.copyOf(value, size);
      if (size != first) {
        assertThrows(RuntimeException.class, () -> Fields.decoded(cut));
      }
    }
  }

  @Test
  void integrityIsOfKeyAndField() {
    String text = "user1:field0";
    while (text.length() < 40) {
      text += ":";
      text += text.hashCode();
    }
    byte[] content = text.substring(0, 40).getBytes(StandardCharsets.US_ASCII);
    assertTrue(Fields.hasIntegrity("user1", "field0", content));
    assertFalse(Fields.hasIntegrity("user2", "field0", content));
    assertFalse(Fields.hasIntegrity("user1", "field1", content));
    content[20] ^= 1;
    assertFalse(Fields.hasIntegrity("user1", "field0", content));
  }
}
