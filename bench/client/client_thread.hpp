// A client thread: its connections in one epoll set, turned one after the other until its operations are
// done.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/client/connection.hpp"
#include "bench/client/tally.hpp"
#include "bench/client/wire.hpp"
#include "bench/workload/operations.hpp"
#include "runtime/base/result.hpp"

namespace mxkv::bench {

struct ClientOptions {
  std::size_t connections = 1;        ///< of this thread
  std::size_t depth = 1;              ///< requests in flight a connection
  std::size_t refill = 1;             ///< how many are answered before new ones are made
  std::uint64_t deadline_ns = 0;      ///< monotonic time after which no request is made; 0: none
  std::uint64_t silence_ms = 30'000;  ///< with no byte for so long the run has failed
};

/// Nanoseconds of the monotonic clock.
std::uint64_t monotonic_ns() noexcept;

/// Thread-safety: owner only, except operations_done() and operations_left(): any thread.
class ClientThread {
 public:
  ClientThread(const Wire& wire, SharedWorkload& workload, std::uint32_t index, std::uint32_t threads,
               const ClientOptions& options);

  /// Opens the connections. At start-up.
  [[nodiscard]] runtime::Result<std::size_t> connect(const Endpoint& endpoint);
  /// Runs to the end. What went wrong beyond failed operations is in problem().
  void run();

  [[nodiscard]] const Tally& tally() const noexcept { return tally_; }
  [[nodiscard]] const std::string& problem() const noexcept { return problem_; }
  [[nodiscard]] std::uint64_t operations_done() const noexcept {
    return done_.load(std::memory_order_relaxed);
  }

 private:
  void arm(int epoll, int how, std::size_t index);
  void settle(int epoll, std::size_t index, Connection::Status status);

  const Wire& wire_;
  SharedWorkload& workload_;
  ClientOptions options_;
  OperationSource source_;
  Tally tally_;
  std::vector<Connection> connections_;
  std::vector<bool> writing_;  // by connection: whether epoll watches for writability
  std::size_t active_ = 0;
  std::string problem_;
  std::atomic<std::uint64_t> done_{0};  // a figure for the progress line: relaxed, pairs with nothing
};

}  // namespace mxkv::bench
