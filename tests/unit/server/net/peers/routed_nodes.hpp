// Nodes of a cluster in one process: each has a runtime, a store and sockets. The test sets the routes, and so decides
// which node owns a shard.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/base/clock.hpp"
#include "server/cluster/cluster_store.hpp"
#include "server/net/worker/network.hpp"
#include "server/reply/worker_replies.hpp"
#include "server/store/store.hpp"
#include "tests/unit/scheduler/machine.hpp"
#include "tests/unit/server/net/tls/tls_peer.hpp"

namespace mxkv::server::test {

class RoutedNode final : private WarningSink, private AdminSource {
 public:
  struct Options {
    std::vector<std::string> splits;
    std::size_t workers = 2;
    ClusterStoreOptions cluster{};
    std::uint16_t peer_port = 0;  ///< 0: any
    RangeLimits ranges{};
    std::size_t memory_bytes = 0;             ///< 0: the runtime's default
    std::optional<config::TlsOptions> tls{};  ///< for connections between nodes
    config::LimitOptions limits{};
    config::StatsOptions stats{};
    CommitGate* gate = nullptr;  ///< holds replies back; null: none is held
  };

  explicit RoutedNode(const Options& options)
      : routes{options.splits},
        client_socket_{open(0)},
        stale_socket_{open(0, config::listener_reads::replica)},
        peer_socket_{open(options.peer_port, config::listener_reads::owner, options.tls)},
        port_{client_socket_.front().address().port},
        stale_port_{stale_socket_.front().address().port},
        peer_port_{peer_socket_.front().address().port},
        limits_{options.limits},
        runtime_{with_memory(runtime::testing::unpinned(options.workers), options.memory_bytes), clock_},
        store_{runtime_, with_ranges(options.ranges)},
        cluster_{store_, routes, clock_, options.workers, with_address(options.cluster)} {
    for (std::size_t i = 0; i < options.workers; ++i) {
      replies_.push_back(std::make_unique<WorkerReplies>(
          runtime_.worker(runtime::WorkerId{static_cast<std::uint16_t>(i)}), runtime_.budget()));
    }
    network_ = std::make_unique<Network>(
        runtime_, replies_, store_, limits_, static_cast<AdminSource&>(*this), credentials_, options.stats,
        config::BalanceOptions{}, static_cast<WarningSink&>(*this), options.gate, &cluster_);
    client_socket_.push_back(std::move(stale_socket_.front()));
    network_->listen(std::move(client_socket_));
    network_->listen_for_peers(std::move(peer_socket_.front()));
    routes.changes().set_hooks({.asked =
                                    [this, workers = options.workers] {
                                      for (std::size_t i = 0; i < workers; ++i) {
                                        network_->wake(i);
                                      }
                                    },
                                .ended = [] {}});
    EXPECT_TRUE(runtime_.start());
  }
  ~RoutedNode() {
    network_->drain();
    for (int i = 0; i < 500 && !network_->drained(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds{2});
    }
    runtime_.stop();
    store_.discard_waiting(runtime_);
    runtime_.drain_stopped();
    network_.reset();
  }
  RoutedNode(const RoutedNode&) = delete;
  RoutedNode& operator=(const RoutedNode&) = delete;

  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  /// The port of clients that accept a replica's replies.
  [[nodiscard]] std::uint16_t stale_port() const noexcept { return stale_port_; }
  [[nodiscard]] std::uint16_t peer_port() const noexcept { return peer_port_; }
  [[nodiscard]] std::string peer_address() const { return "127.0.0.1:" + std::to_string(peer_port_); }
  [[nodiscard]] ClusterStore& cluster() noexcept { return cluster_; }
  [[nodiscard]] NetStats sockets() const noexcept { return network_->stats(); }
  [[nodiscard]] Network& network() noexcept { return *network_; }
  /// The first error of a handshake; empty: none.
  [[nodiscard]] std::string failed_handshake() {
    return store_.happenings().take()[static_cast<std::size_t>(happening::failed_handshake)].subject.about();
  }

  void own(std::uint32_t shard) {
    routes.set_lease(shard, ~std::uint64_t{0});
    routes.set(shard, {Route::to::here, 0});
  }
  void know(std::uint32_t shard, const RoutedNode& owner) {
    routes.set(shard, {Route::to::peer, routes.peer(owner.peer_address())});
  }
  /// The replica holds everything that was written at least `ago` before now.
  void follow(std::uint32_t shard, std::chrono::nanoseconds ago) {
    routes.set_fresh_from(shard, clock_.monotonic_ns() - static_cast<std::uint64_t>(ago.count()));
  }
  void forget(std::uint32_t shard) { routes.set(shard, {}); }

  Routes routes;

 private:
  static std::vector<ListenSocket> open(std::uint16_t port,
                                        config::listener_reads reads = config::listener_reads::owner,
                                        std::optional<config::TlsOptions> tls = {}) {
    config::ListenAddress address;
    address.port = port;
    address.reads = reads;
    address.tls = std::move(tls);
    std::vector<ListenSocket> sockets;
    for (int i = 0; i < 500 && sockets.empty();
         ++i) {  // the previous owner of the port may still be closing it
      if (auto opened = ListenSocket::open(address)) {
        opened.value().set_tls(address.tls ? context_of(*address.tls) : nullptr);
        sockets.push_back(std::move(opened.value()));
      } else {
        std::this_thread::sleep_for(std::chrono::milliseconds{2});
      }
    }
    EXPECT_FALSE(sockets.empty());
    return sockets;
  }
  static runtime::RuntimeOptions with_memory(runtime::RuntimeOptions options, std::size_t bytes) {
    options.memory.limit_bytes = bytes == 0 ? options.memory.limit_bytes : bytes;
    return options;
  }
  static StoreOptions with_ranges(const RangeLimits& ranges) {
    StoreOptions options;
    options.ranges = ranges;
    return options;
  }
  [[nodiscard]] ClusterStoreOptions with_address(ClusterStoreOptions options) const {
    options.own_address = peer_address();
    return options;
  }
  void warn(const std::string& /*text*/) override {}
  std::string run(const protocol::Request& /*request*/, AdminCursor& /*cursor*/) override { return "OK\r\n"; }

  std::vector<ListenSocket> client_socket_;
  std::vector<ListenSocket> stale_socket_;
  std::vector<ListenSocket> peer_socket_;
  std::uint16_t port_;
  std::uint16_t stale_port_;
  std::uint16_t peer_port_;
  runtime::SystemClock clock_;
  config::LimitOptions limits_;
  runtime::Runtime runtime_;
  Store store_;
  ClusterStore cluster_;
  Credentials credentials_;
  std::vector<std::unique_ptr<WorkerReplies>> replies_;
  std::unique_ptr<Network> network_;
};

/// A client that waits for its replies.
class BlockingClient {
 public:
  explicit BlockingClient(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const timeval patience{.tv_sec = 20, .tv_usec = 0};
    const int on = 1;
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (socket_ < 0) {
      ADD_FAILURE() << "no socket is to be had";
      return;
    }
    EXPECT_EQ(::connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
  }
  ~BlockingClient() { ::close(socket_); }
  BlockingClient(const BlockingClient&) = delete;
  BlockingClient& operator=(const BlockingClient&) = delete;

  void send(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      ASSERT_GT(sent, 0);
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
  }
  /// Reads until `end` has come at the end, or the connection ends.
  std::string read_to(std::string_view end) {
    std::string all;
    std::array<char, 16384> buffer{};
    while (!all.ends_with(end)) {
      const ssize_t got = ::recv(socket_, buffer.data(), buffer.size(), 0);
      if (got <= 0) {
        closed_ = true;
        EXPECT_EQ(got, 0) << "nothing came behind: " << all.substr(0, 500);
        break;
      }
      all.append(buffer.data(), static_cast<std::size_t>(got));
    }
    return all;
  }
  /// The reply to a request, whatever its length.
  std::string ask(std::string_view request) {
    constexpr std::string_view kEnd = "MN\r\n";
    send(std::string{request} + "mn\r\n");
    std::string reply = read_to(kEnd);
    if (reply.ends_with(kEnd)) {
      reply.resize(reply.size() - kEnd.size());
    }
    return reply;
  }
  [[nodiscard]] bool closed() const noexcept { return closed_; }

 private:
  int socket_;
  bool closed_ = false;
};

/// Three nodes; shard 0 ends before "h", 1 before "p".
class Nodes {
 public:
  /// The settings of each node; further nodes are like the last.
  struct Kinds {
    std::vector<RoutedNode::Options> of;
  };

  explicit Nodes(ClusterStoreOptions options = {}, std::size_t workers = 2, std::size_t memory_bytes = 0)
      : Nodes{Kinds{{{.splits = {"h", "p"},
                      .workers = workers,
                      .cluster = std::move(options),
                      .memory_bytes = memory_bytes}}}} {}
  explicit Nodes(Kinds kinds) : options_{std::move(kinds.of)} {
    options_.resize(3, RoutedNode::Options{options_.back()});
    for (const RoutedNode::Options& options : options_) {
      nodes.push_back(std::make_unique<RoutedNode>(options));
    }
    for (std::uint32_t shard = 0; shard < 3; ++shard) {
      give(shard, shard);
    }
  }
  /// Every node knows the change.
  void give(std::uint32_t shard, std::size_t owner) {
    for (std::size_t i = 0; i < 3; ++i) {
      if (i == owner) {
        nodes[i]->own(shard);
      } else {
        nodes[i]->know(shard, *nodes[owner]);
      }
    }
  }
  void start_again(std::size_t node) {
    RoutedNode::Options same = options_[node];
    same.peer_port = nodes[node]->peer_port();
    nodes[node].reset();
    nodes[node] = std::make_unique<RoutedNode>(same);
  }
  /// While any client runs, the route to a shard changes all the time, and its owner is unreachable for moments.
  void change_ways_while(const std::atomic<int>& left) {
    for (unsigned step = 0; left > 0; ++step) {
      const std::uint32_t shard = step % 3;
      const std::size_t asks = (shard + 1 + step / 3 % 2) % 3;
      if (step % 5 == 0) {
        nodes[asks]->forget(shard);
      } else {
        nodes[asks]->know(
            shard,
            *nodes[step % 2 == 0 ? 3 - shard - asks : shard]);  // a node that knows the owner, or the owner
      }
      if (step % 4 == 0) {
        nodes[shard]->routes.set_lease(shard, 1);
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
        nodes[shard]->routes.set_lease(shard, ~std::uint64_t{0});
      }
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
      nodes[asks]->know(shard, *nodes[shard]);
    }
  }
  RoutedNode& operator[](std::size_t i) { return *nodes[i]; }

  std::vector<std::unique_ptr<RoutedNode>> nodes;

 private:
  std::vector<RoutedNode::Options> options_;
};

inline std::string set(const std::string& key, const std::string& value) {
  return "set " + key + " 0 0 " + std::to_string(value.size()) + "\r\n" + value + "\r\n";
}

}  // namespace mxkv::server::test
