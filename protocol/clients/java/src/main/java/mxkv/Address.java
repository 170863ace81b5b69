package mxkv;

import java.net.URI;
import java.net.URISyntaxException;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;

/** The host and port of a server and how to get in, of {@code host}, {@code host:port} or a URL. */
record Address(String host, int port, String user, String password, boolean tls) {
  static final int PORT = 11211;

  static Address of(String text) {
    URI url;
    try {
      url = new URI(text.contains("://") ? text : "mxkv://" + text).parseServerAuthority();
    } catch (URISyntaxException wrong) { // its text may have a password
      throw new MxkvException.BadAddress("the URL of a server is malformed");
    }
    String host = url.getHost();
    String path = url.getPath();
    boolean known = "mxkv".equals(url.getScheme()) || "mxkvs".equals(url.getScheme());
    if (!known || host == null || !(path.isEmpty() || path.equals("/")) || url.getQuery() != null || url.getFragment() != null) {
      throw new MxkvException.BadAddress("'" + text.substring(text.lastIndexOf('@') + 1) + "' is no mxkv://host:port or mxkvs://host:port");
    }
    if (url.getPort() == 0 || url.getPort() > 65535) {
      throw new MxkvException.BadAddress("'" + text.substring(text.lastIndexOf('@') + 1) + "': the port must be 1 to 65535");
    }
    String login = url.getRawUserInfo();
    int colon = login == null ? -1 : login.indexOf(':');
    String user = login == null || login.isEmpty() ? null : decoded(colon < 0 ? login : login.substring(0, colon));
    String bare = host.startsWith("[") ? host.substring(1, host.length() - 1) : host;
    return new Address(bare, url.getPort() < 0 ? PORT : url.getPort(), user, colon < 0 ? "" : decoded(login.substring(colon + 1)),
        url.getScheme().equals("mxkvs"));
  }

  private static String decoded(String text) {
    return URLDecoder.decode(text.replace("+", "%2B"), StandardCharsets.UTF_8);
  }
}
