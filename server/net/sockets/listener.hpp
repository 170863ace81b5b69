// One listening socket: accepts clients and hands the new sockets to the workers.
//
// It lives on one worker. When the process has no descriptor left, it retries at intervals, because the
// listening socket stays readable and would keep the worker busy. Clients that wait then are refused.
#pragma once

#include <chrono>
#include <cstdint>

#include "config/options.hpp"
#include "server/net/observe/net_counters.hpp"
#include "server/net/sockets/asio.hpp"
#include "server/net/sockets/descriptor_shortage.hpp"
#include "server/net/sockets/handler_memory.hpp"

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
  Listener(const Executor& executor, int socket, ConnectionCounters& counters, DescriptorShortage& shortage,
           const config::LimitOptions& limits, SocketReceiver& receiver)
      : socket_(executor, socket),
        backoff_(executor),
        counters_(counters),
        shortage_(shortage),
        limits_(limits),
        receiver_(receiver),
        reserve_(is_unix(socket) ? kReserve : 0) {}
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  /// Connections over the limit that unix sockets still accept, so that an administrator can find out why the
  /// limit is reached.
  static constexpr std::uint32_t kReserve = 8;

  /// Waits for connections.
  void wait();
  /// Accepts the connections that wait.
  void accept_waiting();
  void close();

 private:
  [[nodiscard]] static bool is_unix(int socket) noexcept;
  /// How many connections may be open when this listener accepts one.
  [[nodiscard]] std::uint64_t most() const noexcept {
    return receiver_.is_limited() ? std::uint64_t{limits_.connections} + reserve_ : ~std::uint64_t{0};
  }
  void wait_later(std::chrono::milliseconds time);
  void take(int socket);
  void refuse(int socket);
  void refuse_waiting(int error);

  Descriptor socket_;
  Timer backoff_;
  ConnectionCounters& counters_;
  DescriptorShortage& shortage_;
  const config::LimitOptions& limits_;
  SocketReceiver& receiver_;
  std::uint32_t reserve_;
  bool ready_ = false;
  bool grace_given_ = false;
  HandlerMemory wait_memory_;
  HandlerMemory backoff_memory_;
};

}  // namespace mxkv::server
