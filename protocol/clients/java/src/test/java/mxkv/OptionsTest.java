package mxkv;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.net.InetAddress;
import java.net.ServerSocket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class OptionsTest {
  @Test
  void aServerIsAnAddressOrAUrl() {
    Map.of("localhost", new Address("localhost", 11211, null, "", false), "h:7", new Address("h", 7, null, "", false),
        "mxkv://ann:a%40b%2F+@h:7/", new Address("h", 7, "ann", "a@b/+", false), "mxkvs://[::1]:7", new Address("::1", 7, null, "", true),
        "mxkvs://ann@h", new Address("h", 11211, "ann", "", true)).forEach((text, wanted) -> assertEquals(wanted, Address.of(text)));
  }

  @Test
  void aBadUrlIsRefusedWithoutItsPassword() {
    for (String text : List.of("http://h", "mxkv://", "mxkv://ann:secret@h:99999", "mxkv://ann:secret@h:x", "mxkv://ann:secret@h/path",
        "mxkv:///path", "mxkv://ann:secret@h?tls=true", "mxkv://h#x")) {
      MxkvException refused = assertThrows(MxkvException.BadAddress.class, () -> MxkvClient.connect(text), text);
      assertFalse(refused.getMessage().contains("secret"), refused.getMessage());
    }
  }

  @Test
  void anEmptyPrefixIsNotDeleted() {
    try (MxkvClient client = MxkvClient.builder("127.0.0.1:1").retries(0).build()) {
      assertThrows(MxkvException.Client.class, () -> client.deleteRange(Range.prefix("")));
      assertThrows(MxkvException.Connection.class, () -> client.deleteRange(Range.all()));
    }
  }

  @Test
  void timeoutsAreSetByDefault() {
    MxkvClient.Builder options = MxkvClient.builder("h");
    assertEquals(List.of(1000, 3000), List.of(options.connectTimeoutMs, options.timeoutMs));
  }

  @Test
  void errorsOfConnectionsHaveTypes() throws Exception {
    List<String> seen = new ArrayList<>();
    Hook hook = (command, server) -> failure -> seen.add(command + " " + failure.getClass().getSimpleName());
    try (ServerSocket silent = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        MxkvClient waiting = MxkvClient.builder("127.0.0.1", silent.getLocalPort()).timeouts(Duration.ofSeconds(20), Duration.ofMillis(20))
            .hook(hook).build();
        MxkvClient nowhere = MxkvClient.builder("no-such-host.invalid").retries(0).hook(hook).build()) {
      assertThrows(MxkvException.Timeout.class, () -> waiting.get("k"));
      assertThrows(MxkvException.Connection.class, () -> nowhere.count(Range.all()));
    }
    MxkvClient closed = MxkvClient.builder("h").hook(hook).build();
    closed.close();
    assertThrows(MxkvException.Closed.class, () -> closed.get("k"));
    assertEquals(List.of("mg Timeout", "mc Connection", "mg Closed"), seen);
  }
}
