package mxkv;

import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;

/** One connection, logged in. One request at a time. */
final class Connection implements AutoCloseable {
  /** Reads all of the reply to a request. */
  interface Reading<T> {
    T read(InputStream in) throws IOException;
  }

  private final Socket socket;
  private final InputStream in;

  Connection(MxkvClient.Builder options) throws IOException {
    Socket plain = new Socket();
    try {
      plain.setTcpNoDelay(true);
      plain.connect(new InetSocketAddress(options.host, options.port), options.connectTimeoutMs);
      plain.setSoTimeout(options.connectTimeoutMs);
      socket = options.tls == null ? plain : secured(plain, options);
      in = new BufferedInputStream(socket.getInputStream(), 1 << 16);
      if (options.user != null) {
        byte[] credentials = (options.user + " " + options.password).getBytes(StandardCharsets.UTF_8);
        byte[] line = ("set auth 0 0 " + credentials.length + "\r\n").getBytes(StandardCharsets.ISO_8859_1);
        ask(Lines.joined(line, credentials, Lines.END), stream -> Reply.read(stream).expecting("STORED"));
      }
      socket.setSoTimeout(options.timeoutMs);
    } catch (IOException | RuntimeException failure) {
      plain.close();
      throw failure;
    }
  }

  private static Socket secured(Socket plain, MxkvClient.Builder options) throws IOException {
    SSLSocket made = (SSLSocket) options.tls.getSocketFactory().createSocket(plain, options.host, options.port, true);
    SSLParameters parameters = made.getSSLParameters();
    parameters.setEndpointIdentificationAlgorithm("HTTPS"); // the name in the certificate is compared, too
    made.setSSLParameters(parameters);
    made.startHandshake();
    return made;
  }

  /** After an exception that is no Answer the connection is of no more use. */
  <T> T ask(byte[] request, Reading<T> reading) throws IOException {
    send(request);
    T result = reading.read(in);
    if (!isInStep()) {
      throw new MxkvException.Protocol("the server sent more than was asked for");
    }
    return result;
  }

  /** Sends without a wait for a reply. */
  void send(byte[] data) throws IOException {
    socket.getOutputStream().write(data);
    socket.getOutputStream().flush();
  }

  /** Reads something that the server sent. */
  <T> T receive(Reading<T> reading) throws IOException {
    return reading.read(in);
  }

  /** Reads have no timeout from now on. */
  void waitForEver() throws IOException {
    socket.setSoTimeout(0);
  }

  /** Is the next reply that of the next request? */
  boolean isInStep() throws IOException {
    return in.available() == 0;
  }

  @Override
  public void close() {
    try {
      socket.close();
    } catch (IOException ignored) {
      // the connection is given up in any case
    }
  }
}
