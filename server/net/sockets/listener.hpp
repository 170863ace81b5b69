// One listening socket: accepts clients and hands the new sockets to the workers.
//
// It lives on one worker, whose set of events rings its bell when a client comes. When the process has no
// descriptor left, it retries at intervals; clients that wait then are refused.
#pragma once

#include <algorithm>
#include <cstdint>

#include "config/options.hpp"
#include "server/net/observe/net_counters.hpp"
#include "server/net/sockets/descriptor_shortage.hpp"
#include "server/net/sockets/socket_events.hpp"

namespace mxkv::server {

/// Takes the accepted sockets, which are non-blocking. Thread-safety: the listener's worker only.
class SocketReceiver {
 public:
  SocketReceiver() = default;
  SocketReceiver(const SocketReceiver&) = delete;
  SocketReceiver& operator=(const SocketReceiver&) = delete;

  /// Whether the socket may be served: its address has not too many connections.
  [[nodiscard]] virtual bool admits(int socket) = 0;
  /// Whether the limit of all connections applies. If not, every client is let in.
  [[nodiscard]] virtual bool is_limited() const noexcept = 0;
  virtual void accepted(int socket) = 0;
  /// A socket was refused: there are too many connections, or too many of its address.
  virtual void refused(int socket, bool by_address) = 0;

 protected:
  ~SocketReceiver() = default;
};

/// Thread-safety: owner worker only.
class Listener {
 public:
  /// Takes over `socket`, which listens and is non-blocking. `limits` are read at each accept.
  Listener(int socket, ConnectionCounters& counters, DescriptorShortage& shortage,
           const config::LimitOptions& limits, SocketReceiver& receiver) noexcept
      : socket_(socket),
        counters_(counters),
        shortage_(shortage),
        limits_(limits),
        receiver_(receiver),
        reserve_(is_unix(socket) ? kReserve : 0) {}
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  ~Listener() { close(); }

  /// Connections over the limit that unix sockets still accept, so that an administrator can find out why the
  /// limit is reached.
  static constexpr std::uint32_t kReserve = 8;

  /// To be rung when its socket becomes readable.
  [[nodiscard]] Bell& bell() noexcept { return bell_; }
  /// Accepts the connections that wait, if any came since, or if it is time to look again.
  void accept_waiting(std::uint64_t now_ns) {
    if (now_ns >= again_ns_ || (bell_.rings && again_ns_ == kForever)) [[unlikely]] {
      accept_now(now_ns);
    }
  }
  /// How long from `now_ns` it needs no look unless its bell rings.
  [[nodiscard]] std::uint64_t most_wait_ns(std::uint64_t now_ns) const noexcept {
    return again_ns_ != kForever ? again_ns_ - std::min(again_ns_, now_ns) : bell_.rings ? 0 : kForever;
  }
  void close() noexcept;

 private:
  [[nodiscard]] static bool is_unix(int socket) noexcept;
  /// How many connections may be open when this listener accepts one.
  [[nodiscard]] std::uint64_t most() const noexcept {
    return receiver_.is_limited() ? std::uint64_t{limits_.connections} + reserve_ : ~std::uint64_t{0};
  }
  void accept_now(std::uint64_t now_ns);
  void take(int socket);
  void refuse(int socket);
  void refuse_waiting(int error);

  static constexpr std::uint64_t kForever = runtime::Poller::kForever;

  int socket_;  ///< -1: closed
  ConnectionCounters& counters_;
  DescriptorShortage& shortage_;
  const config::LimitOptions& limits_;
  SocketReceiver& receiver_;
  std::uint32_t reserve_;
  Bell bell_;
  std::uint64_t again_ns_ = kForever;  ///< it looks no earlier; kForever: when its bell rings
  bool grace_given_ = false;
};

}  // namespace mxkv::server
