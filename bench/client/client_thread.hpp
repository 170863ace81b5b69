// A client thread: its connections in one epoll set, turned one after the other until its operations are
// done.
//
// Closed loop: a connection that has its replies sends the next requests. Paced: due operations go to the
// connections in turn, to the next one with room in its pipeline. If none has room, the operation waits, and
// its latency runs from its due time.
#pragma once

#include <sys/epoll.h>

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bench/client/connection.hpp"
#include "bench/client/interrupt.hpp"
#include "bench/client/pacer.hpp"
#include "bench/client/recorder.hpp"
#include "bench/client/wire.hpp"
#include "bench/workload/operations.hpp"
#include "runtime/base/result.hpp"

namespace mxkv::bench {

struct ClientOptions {
  std::size_t connections = 1;  ///< of this thread
  std::size_t depth = 1;        ///< requests in flight a connection
  std::size_t refill = 1;       ///< requests that must be answered before new ones are made
  PacerOptions pace;
  std::uint64_t silence_ms = 30'000;  ///< the run fails after so long without a byte
};

/// The times that all threads of a run share, in monotonic nanoseconds.
struct RunTimes {
  std::uint64_t start_ns = 0;
  std::uint64_t warmup_ns = 0;           ///< operations that end within it are not measured
  std::uint64_t deadline_ns = 0;         ///< no request is made after it; 0: none
  const Interrupt* interrupt = nullptr;  ///< no request is made after it; null: there is none
};

/// Nanoseconds of the monotonic clock.
std::uint64_t monotonic_ns() noexcept;

/// Thread-safety: owner only, except operations_done() and lag_ns(): any thread.
class ClientThread {
 public:
  ClientThread(const Wire& wire, SharedWorkload& workload, std::uint32_t index, std::uint32_t threads,
               const ClientOptions& options, SharedSeries& series);

  /// Opens the connections. At start-up.
  [[nodiscard]] runtime::Result<std::size_t> connect(const Endpoint& endpoint);
  /// Runs to the end. problem() has errors other than failed operations.
  void run(const RunTimes& times);

  [[nodiscard]] const Recorder& recorder() const noexcept { return recorder_; }
  [[nodiscard]] const ScheduleFigures& schedule() const noexcept { return pacer_.figures(); }
  [[nodiscard]] const std::string& problem() const noexcept { return problem_; }
  /// The server's answer to the first request that it refused; empty if it refused none. After run().
  [[nodiscard]] const std::string& refusal() const noexcept;
  /// See Connection. After run().
  [[nodiscard]] const std::string& first_wrong() const noexcept;
  [[nodiscard]] const std::string& first_missing() const noexcept;
  [[nodiscard]] std::uint64_t operations_done() const noexcept {
    return done_.load(std::memory_order_relaxed);
  }
  /// How far a paced run is behind its schedule.
  [[nodiscard]] std::uint64_t lag_ns() const noexcept { return lag_ns_.load(std::memory_order_relaxed); }

 private:
  /// The first text that any connection has; empty: none has one.
  [[nodiscard]] const std::string& first_of(const std::string& (Connection::*text)()
                                                const noexcept) const noexcept;
  void start_all();
  void handle_events(std::span<const epoll_event> events);
  void send_due(std::uint64_t now_ns);
  [[nodiscard]] bool interrupted() const noexcept {
    return times_.interrupt != nullptr && times_.interrupt->signal() != 0;
  }
  /// Whether requests may still be made.
  [[nodiscard]] bool open_at(std::uint64_t now_ns) const noexcept {
    return (times_.deadline_ns == 0 || now_ns < times_.deadline_ns) && !interrupted();
  }
  [[nodiscard]] std::uint64_t silence_ns() const noexcept;
  [[nodiscard]] bool may_send(std::uint64_t now_ns) const noexcept;
  [[nodiscard]] bool at_work(std::uint64_t now_ns) const noexcept;
  [[nodiscard]] std::uint64_t wait_ns(std::uint64_t now_ns) const noexcept;
  void arm(int how, std::size_t index);
  void settle(std::size_t index, Connection::Status status);
  void drop(std::size_t index);

  const Wire& wire_;
  SharedWorkload& workload_;
  ClientOptions options_;
  OperationSource source_;
  Pacer pacer_;
  Recorder recorder_;
  ConnectionContext context_;
  Socket epoll_;  // a Socket only for its closing
  RunTimes times_;
  std::vector<Connection> connections_;
  std::vector<bool> open_;            // by connection: in the epoll set
  std::vector<bool> writing_;         // by connection: whether epoll watches for writability
  std::size_t active_ = 0;            // connections that are open
  std::size_t next_ = 0;              // paced: the connection whose turn it is
  std::size_t outstanding_ = 0;       // paced: requests in flight
  std::vector<std::size_t> offered_;  // paced: connections that have something to send
  std::uint64_t heard_ns_ = 0;        // time of the last byte, or when no reply was outstanding
  std::string problem_;
  std::atomic<std::uint64_t> done_{0};  // figures for the progress line: relaxed, pair with nothing
  std::atomic<std::uint64_t> lag_ns_{0};
};

}  // namespace mxkv::bench
