// mxkv-echo: the floor under every server. It counts bytes: for each request of a fixed length it answers a
// fixed number of bytes, with one read and one write a turn, and looks at nothing.
//
// Built as the server's network side is: Asio without locks (BOOST_ASIO_CONCURRENCY_HINT_UNSAFE), a concrete
// executor, readiness instead of buffered reads, one read buffer for all connections. What a real server
// takes beyond this is its own. Not done: parsing, limits, more than one thread.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/signal_set.hpp>

#include "bench/client/socket.hpp"

namespace mxkv::bench {
namespace {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;
using Executor = asio::io_context::executor_type;
using Stream = asio::basic_stream_socket<tcp, Executor>;
using Acceptor = asio::basic_socket_acceptor<tcp, Executor>;

struct EchoOptions {
  std::string listen = "127.0.0.1:11311";
  std::size_t request_bytes = 30;
  std::size_t reply_bytes = 145;
};

/// What all connections share: the lengths, a buffer to read into and bytes to answer with.
struct EchoShared {
  explicit EchoShared(const EchoOptions& options)
      : request_bytes(options.request_bytes),
        reply_bytes(options.reply_bytes),
        input(kReadBytes),
        output(kWriteBytes, 'x') {}

  static constexpr std::size_t kReadBytes = std::size_t{16} << 10;
  static constexpr std::size_t kWriteBytes = std::size_t{256} << 10;

  std::size_t request_bytes;
  std::size_t reply_bytes;
  std::vector<char> input;
  std::vector<char> output;
};

/// One connection; it keeps itself alive through its pending wait.
class EchoConnection : public std::enable_shared_from_this<EchoConnection> {
 public:
  EchoConnection(Stream stream, EchoShared& shared) : stream_(std::move(stream)), shared_(shared) {
    stream_.non_blocking(true);
    stream_.set_option(tcp::no_delay(true));
  }

  void wait() {
    const auto what = owed_ > 0 ? Stream::wait_write : Stream::wait_read;
    stream_.async_wait(what, [self = shared_from_this()](const boost::system::error_code& failed) {
      if (!failed && self->turn()) {
        self->wait();
      }
    });
  }

 private:
  bool turn() {
    boost::system::error_code failed;
    if (owed_ == 0) {
      partial_ += stream_.read_some(asio::buffer(shared_.input), failed);
      if (failed && failed != asio::error::would_block) {
        return false;
      }
      owed_ = partial_ / shared_.request_bytes * shared_.reply_bytes;
      partial_ %= shared_.request_bytes;
    }
    while (owed_ > 0) {
      const std::size_t bytes = std::min(owed_, shared_.output.size());
      const std::size_t written = stream_.write_some(asio::buffer(shared_.output.data(), bytes), failed);
      owed_ -= written;
      if (failed) {
        return failed == asio::error::would_block;
      }
    }
    return true;
  }

  Stream stream_;
  EchoShared& shared_;
  std::size_t partial_ = 0;  // bytes of an incomplete request
  std::size_t owed_ = 0;     // bytes of replies still to send
};

void accept_next(Acceptor& acceptor, EchoShared& shared) {
  acceptor.async_accept([&](const boost::system::error_code& failed, Stream stream) {
    if (!failed) {
      std::make_shared<EchoConnection>(std::move(stream), shared)->wait();
    }
    accept_next(acceptor, shared);
  });
}

int serve(const EchoOptions& options) {
  const auto endpoint = parse_endpoint(options.listen);
  if (!endpoint) {
    std::fprintf(stderr, "mxkv-echo: --listen: %s\n", endpoint.error().message.c_str());
    return 2;
  }
  asio::io_context context(BOOST_ASIO_CONCURRENCY_HINT_UNSAFE);
  EchoShared shared(options);
  const tcp::endpoint address(asio::ip::make_address(endpoint.value().host),
                              static_cast<std::uint16_t>(std::stoul(endpoint.value().port)));
  Acceptor acceptor(context, address, true);
  accept_next(acceptor, shared);
  asio::basic_signal_set<Executor> signals(context, SIGINT, SIGTERM);
  signals.async_wait([&](const boost::system::error_code&, int) { context.stop(); });
  context.run();
  return 0;
}

}  // namespace
}  // namespace mxkv::bench

int main(int argc, char** argv) {
  mxkv::bench::EchoOptions options;
  CLI::App app{"mxkv-echo: answers a fixed number of bytes for each request of a fixed length."};
  app.add_option("--listen", options.listen, "ADDRESS:PORT")->capture_default_str();
  app.add_option("--request-bytes", options.request_bytes, "bytes a request")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--reply-bytes", options.reply_bytes, "bytes a reply")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    return mxkv::bench::serve(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "mxkv-echo: %s\n", error.what());
    return 1;
  }
}
