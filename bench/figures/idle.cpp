// One request every 10 ms to an otherwise idle server: the time until its answer, beside the same time of a
// server that only blocks in epoll and answers the same bytes. `run` starts the daemon and passes its port.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <stdexcept>
#include <string_view>
#include <thread>

#include "bench/figures/figure.hpp"

namespace {

using namespace mxkv;  // NOLINT(google-build-using-namespace): a program, not a header

constexpr std::string_view kRequest = "get absent\r\n";
constexpr std::string_view kReply = "END\r\n";

/// An open descriptor.
class Descriptor {
 public:
  explicit Descriptor(int descriptor) : descriptor_(descriptor) {
    if (descriptor < 0) {
      throw std::runtime_error("no descriptor");
    }
  }
  ~Descriptor() { ::close(descriptor_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int get() const noexcept { return descriptor_; }

 private:
  int descriptor_;
};

sockaddr_in local_address(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

void without_delay(int descriptor) {
  const int on = 1;
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

/// A client's connection: one request at a time.
class Client {
 public:
  explicit Client(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    const sockaddr_in address = local_address(port);
    if (::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      throw std::runtime_error("cannot connect to port " + std::to_string(port));
    }
    without_delay(socket_.get());
  }
  /// Microseconds from the sending to the answer.
  double ask() const {
    std::array<char, 64> reply{};
    const double start = bench::wall_seconds();
    if (::send(socket_.get(), kRequest.data(), kRequest.size(), 0) != static_cast<ssize_t>(kRequest.size())) {
      throw std::runtime_error("the server took no request");
    }
    const ssize_t bytes = ::recv(socket_.get(), reply.data(), kReply.size(), MSG_WAITALL);
    const double seconds = bench::wall_seconds() - start;
    if (bytes != static_cast<ssize_t>(kReply.size()) ||
        std::string_view(reply.data(), kReply.size()) != kReply) {
      throw std::runtime_error("the server answered something else");
    }
    return seconds * 1e6;
  }

 private:
  Descriptor socket_;
};

/// Accepts one connection and answers each of its requests, blocking in epoll between them, until it is
/// closed.
void serve(int listener) {
  const Descriptor connection{::accept(listener, nullptr, nullptr)};
  without_delay(connection.get());
  const Descriptor poll{::epoll_create1(0)};
  epoll_event event{};
  event.events = EPOLLIN;
  ::epoll_ctl(poll.get(), EPOLL_CTL_ADD, connection.get(), &event);
  std::array<char, 4096> input{};
  while (::epoll_wait(poll.get(), &event, 1, -1) == 1) {
    if (::recv(connection.get(), input.data(), input.size(), 0) <= 0 ||
        ::send(connection.get(), kReply.data(), kReply.size(), MSG_NOSIGNAL) < 0) {
      return;
    }
  }
}

/// The latency that `percent` of the requests do not exceed.
double percentile(std::vector<double> latencies, double percent) {
  std::sort(latencies.begin(), latencies.end());
  return latencies[static_cast<std::size_t>(static_cast<double>(latencies.size() - 1) * percent / 100)];
}

int measure(bench::Figure& figure, std::uint16_t port, std::uint64_t requests) {
  const Descriptor listener{::socket(AF_INET, SOCK_STREAM, 0)};
  sockaddr_in address = local_address(0);
  socklen_t length = sizeof address;
  if (::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0 ||
      ::listen(listener.get(), 1) != 0 ||
      ::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    throw std::runtime_error("cannot listen");
  }
  const std::jthread server{[&listener] { serve(listener.get()); }};
  const Client baseline{ntohs(address.sin_port)};  // closed before the thread is joined
  const Client daemon{port};
  std::array<std::vector<double>, 2> latencies;
  for (std::uint64_t i = 0; i < requests; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds{10});
    latencies[0].push_back(daemon.ask());
    std::this_thread::sleep_for(std::chrono::milliseconds{10});
    latencies[1].push_back(baseline.ask());
  }
  const std::array<std::string, 2> names{"mxkvd", "blocking epoll server"};
  for (std::size_t i = 0; i < names.size(); ++i) {
    figure.point(names[i], "median", percentile(latencies[i], 50), "us");
    figure.point(names[i], "99 %", percentile(latencies[i], 99), "us");
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t port = 0;
  std::uint64_t requests = 500;
  bench::Figure figure{"idle", "One request every 10 ms to an idle server"};
  figure.number("port", port, "where the daemon listens on 127.0.0.1", 1, 65'535);
  figure.number("requests", requests, "to each of both");
  if (const auto code = figure.parse(argc, argv)) {
    return *code;
  }
  try {
    return measure(figure, static_cast<std::uint16_t>(port), requests);
  } catch (const std::exception& error) {
    figure.note(error.what());
    return 1;
  }
}
