// The due times of the operations of an open-loop run, whatever the server does.
//
// A closed loop asks less of a slow server, and so hides the waiting that its users would see ("coordinated
// omission"). Here the times are fixed in advance: an operation that is sent late is measured from its due
// time. The pacer only does arithmetic; the caller has the clock.
#pragma once

#include <algorithm>
#include <cstdint>

#include "bench/client/sine_rate.hpp"
#include "runtime/base/random.hpp"

namespace mxkv::bench {

class Trace;

enum class Arrivals : std::uint8_t {
  constant,  ///< equal gaps
  poisson,   ///< exponentially distributed gaps, as of many independent users
};

/// The schedule of one client thread.
struct PacerOptions {
  double rate_per_s = 0;  ///< of all threads together; 0: closed loop, every operation is due at once
  Arrivals arrivals = Arrivals::constant;
  SineRate sine{};  ///< around rate_per_s
  std::uint32_t index = 0;
  std::uint32_t threads = 1;
  std::uint64_t seed = 1;
  const Trace* trace = nullptr;  ///< its own times, in place of equal gaps; must outlive the pacer
  double trace_speed = 1;
};

/// How well a schedule was kept.
struct ScheduleFigures {
  static constexpr std::uint64_t kLateNs = 100'000'000;  ///< a greater lag is reported

  double rate_per_s = 0;  ///< 0: there was none
  Arrivals arrivals = Arrivals::constant;
  std::uint64_t sent = 0;
  std::uint64_t unsent = 0;       ///< due within the time of the run, never sent
  std::uint64_t length_ns = 0;    ///< from the start to the last due time
  std::uint64_t max_lag_ns = 0;   ///< the longest delay of an operation behind its due time
  std::uint64_t last_lag_ns = 0;  ///< the delay of the last operation

  /// Whether the load was not the requested one: an operation was more than 100 ms late, or the last one more
  /// than 1 % of the schedule (and more than 10 ms, which any machine may take), or operations of more than
  /// 10 ms were never sent.
  [[nodiscard]] bool fell_behind() const noexcept;
  /// Adds a thread or client that ran at the same time: rates and counts add up, the greater lags remain.
  void merge(const ScheduleFigures& other) noexcept;
};

/// Thread-safety: owner only.
class Pacer {
 public:
  explicit Pacer(const PacerOptions& options) noexcept;

  [[nodiscard]] bool paced() const noexcept { return gap_ns_ > 0; }
  /// The schedule begins; monotonic nanoseconds.
  void start(std::uint64_t now_ns) noexcept;
  /// When the next operation is due. Only if paced().
  [[nodiscard]] std::uint64_t next_ns() const noexcept { return next_ns_; }
  /// Notes that the next operation is sent now, late or in time. Returns its due time.
  std::uint64_t send(std::uint64_t now_ns) noexcept;
  /// Ends the schedule: operations due before `end_ns` that were not sent count as unsent.
  void stop(std::uint64_t end_ns) noexcept;
  /// How late the operation due next already is.
  [[nodiscard]] std::uint64_t lag_ns(std::uint64_t now_ns) const noexcept {
    return now_ns - std::min(now_ns, next_ns_);
  }
  [[nodiscard]] const ScheduleFigures& figures() const noexcept { return figures_; }

 private:
  void advance() noexcept;

  double gap_ns_;        // mean time between two operations of this thread; 0: not paced
  double first_gap_ns_;  // constant arrivals: the threads take turns
  const Trace* trace_;
  double trace_speed_;
  SineRate sine_;
  double rate_per_s_;  // of all threads, on average
  double threads_;
  double first_;  // this thread's turn
  runtime::Random random_;
  std::uint64_t start_ns_ = 0;
  double offset_ns_ = 0;  // of the next operation from the start
  double position_ = 0;   // by a sine: operations of all threads that are due before the next one
  std::uint64_t number_ = 0;
  std::uint64_t next_ns_ = 0;
  ScheduleFigures figures_;
};

}  // namespace mxkv::bench
