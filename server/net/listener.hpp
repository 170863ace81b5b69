// One listening socket: accepts, and hands the new sockets to the workers.
//
// It lives on one worker. When the process is out of descriptors it waits a moment, because the socket stays
// readable and would be asked again and again.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "config/options.hpp"
#include "runtime/base/result.hpp"
#include "server/net/asio.hpp"
#include "server/net/handler_memory.hpp"
#include "server/net/net_counters.hpp"

namespace mxkv::server {

/// Thread-safety: owner worker only; open() at start-up.
class Listener {
 public:
  /// Gets each accepted socket, non-blocking.
  struct Receiver {
    void* context = nullptr;
    void (*accepted)(void* context, int socket) = nullptr;
  };

  Listener(Executor executor, ConnectionCounters& counters, std::uint64_t most_connections, Receiver receiver)
      : acceptor_(executor),
        backoff_(executor),
        counters_(counters),
        most_connections_(most_connections),
        receiver_(receiver) {}
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  /// Binds and listens. Returns the port. Errors: "listen on ADDRESS:PORT: why".
  [[nodiscard]] runtime::Result<std::uint16_t> open(const config::ListenAddress& address);
  /// Waits for connections.
  void wait();
  /// Accepts those that wait.
  void accept_waiting();
  void close();

 private:
  void wait_later(std::chrono::milliseconds time);
  void take(int socket);

  Acceptor acceptor_;
  Timer backoff_;
  ConnectionCounters& counters_;
  std::uint64_t most_connections_;
  Receiver receiver_;
  bool ready_ = false;
  bool grace_given_ = false;
  HandlerMemory wait_memory_;
  HandlerMemory backoff_memory_;
};

}  // namespace mxkv::server
