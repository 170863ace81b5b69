// mxkv-echo: the floor under every server. It counts bytes: for each request of a fixed length it answers a
// fixed number of bytes, with one read and one write a turn, and does not look at the bytes.
//
// It does the least that a server on sockets can do: one thread that sleeps in epoll_wait, an edge-triggered
// set to which each socket is added once, one read buffer for all connections. The CPU time that a real
// server takes beyond this is its own. Not done: parsing, limits, more than one thread.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include <CLI/CLI.hpp>

#include "bench/client/socket.hpp"
#include "runtime/base/command_line.hpp"
#include "runtime/base/standard_streams.hpp"

namespace mxkv::bench {
namespace {

struct EchoOptions {
  std::string listen = "127.0.0.1:11311";
  std::size_t request_bytes = 30;
  std::size_t reply_bytes = 145;
};

/// State that all connections share: the lengths, a buffer to read into and the bytes of answers.
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

using Status = Socket::Status;

class EchoConnection {
 public:
  EchoConnection(int socket, EchoShared& shared) : socket_(socket), shared_(shared) {}

  /// Handles a ready socket. Returns false if the client has closed.
  bool turn(std::uint32_t events) {
    readable_ = true;
    ends_ = ends_ || (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
    Status status = pay();
    while (status == Status::moved && readable_) {
      const Socket::Transfer read = socket_.receive(shared_.input.data(), shared_.input.size());
      if (read.status != Status::moved) {
        readable_ = false;
        return read.status == Status::would_block;
      }
      readable_ = ends_ || read.bytes == shared_.input.size();  // a short read emptied the socket
      partial_ += read.bytes;
      owed_ = partial_ / shared_.request_bytes * shared_.reply_bytes;
      partial_ %= shared_.request_bytes;
      status = pay();
    }
    return status != Status::closed;
  }
  [[nodiscard]] int descriptor() const noexcept { return socket_.descriptor(); }

 private:
  Status pay() {
    while (owed_ > 0) {
      const std::size_t bytes = std::min(owed_, shared_.output.size());
      const Socket::Transfer written = socket_.send(shared_.output.data(), bytes);
      if (written.status != Status::moved) {
        return written.status;
      }
      owed_ -= written.bytes;
    }
    return Status::moved;
  }

  Socket socket_;
  EchoShared& shared_;
  bool readable_ = false;
  bool ends_ = false;        // the client sends nothing more
  std::size_t partial_ = 0;  // bytes of an incomplete request
  std::size_t owed_ = 0;     // bytes of replies still to send
};

volatile std::sig_atomic_t told_to_end = 0;

int checked(int result, const char* what) {
  if (result < 0) {
    throw std::system_error(errno, std::generic_category(), what);
  }
  return result;
}

int listening(const Endpoint& endpoint) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(endpoint.port);
  if (::inet_pton(AF_INET, endpoint.host.c_str(), &address.sin_addr) != 1) {
    throw std::invalid_argument(endpoint.host + " is no IPv4 address");
  }
  const int listener = checked(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), "socket");
  const int on = 1;
  checked(::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on), "SO_REUSEADDR");
  checked(::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address), "bind");
  checked(::listen(listener, SOMAXCONN), "listen");
  return listener;
}

void accept_all(int listener, int set, EchoShared& shared) {
  for (int socket = 0; (socket = ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0;) {
    const int on = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    epoll_event event{.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
                      .data = {.ptr = new EchoConnection(socket, shared)}};
    // The set owns it: NOLINTNEXTLINE(clang-analyzer-cplusplus.NewDeleteLeaks)
    checked(::epoll_ctl(set, EPOLL_CTL_ADD, socket, &event), "epoll_ctl");
  }
}

int serve(const EchoOptions& options) {
  const auto endpoint = parse_endpoint(options.listen);
  if (!endpoint) {
    std::fprintf(stderr, "mxkv-echo: --listen: %s\n", endpoint.error().message.c_str());
    return 2;
  }
  struct sigaction action{};
  action.sa_handler = [](int) { told_to_end = 1; };
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  EchoShared shared(options);
  const int listener = listening(endpoint.value());
  const int set = checked(::epoll_create1(EPOLL_CLOEXEC), "epoll_create1");
  epoll_event accepts{.events = EPOLLIN | EPOLLET, .data = {.ptr = nullptr}};
  checked(::epoll_ctl(set, EPOLL_CTL_ADD, listener, &accepts), "epoll_ctl");
  std::array<epoll_event, 256> events;
  while (told_to_end == 0) {
    const int count = ::epoll_wait(set, events.data(), static_cast<int>(events.size()), -1);
    for (const epoll_event& event : std::span{events}.first(static_cast<std::size_t>(std::max(count, 0)))) {
      auto* const connection = static_cast<EchoConnection*>(event.data.ptr);
      if (connection == nullptr) {
        accept_all(listener, set, shared);
      } else if (!connection->turn(event.events)) {
        delete connection;  // closes the socket, which removes it from the set
      }
    }
  }
  return 0;
}

}  // namespace
}  // namespace mxkv::bench

int main(int argc, char** argv) {
  mxkv::runtime::open_standard_streams();
  mxkv::bench::EchoOptions options;
  CLI::App app{"mxkv-echo: answers a fixed number of bytes for each request of a fixed length."};
  app.add_option("--listen", options.listen, "ADDRESS:PORT")->capture_default_str();
  app.add_option("--request-bytes", options.request_bytes, "bytes a request")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--reply-bytes", options.reply_bytes, "bytes a reply")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  if (const auto code = mxkv::runtime::parse_or_exit(app, argc, argv)) {
    return *code;
  }
  try {
    return mxkv::bench::serve(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "mxkv-echo: %s\n", error.what());
    return 1;
  }
}
