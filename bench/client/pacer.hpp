// When each operation of an open-loop run is due, whatever the server does.
//
// A closed loop asks less of a server that is slow, and so hides the waiting that its users would see
// ("coordinated omission"). Here the times are fixed in advance: an operation that is sent late is measured
// from when it was due. The pacer only does arithmetic; whoever holds the clock asks it what is due.
#pragma once

#include <algorithm>
#include <cstdint>

#include "runtime/base/random.hpp"

namespace mxkv::bench {

enum class Arrivals : std::uint8_t {
  constant,  ///< equal gaps
  poisson,   ///< exponentially distributed gaps, as of many independent users
};

/// The part of one client thread.
struct PacerOptions {
  double rate_per_s = 0;  ///< of all threads together; 0: closed loop, nothing is ever waited for
  Arrivals arrivals = Arrivals::constant;
  std::uint32_t index = 0;
  std::uint32_t threads = 1;
  std::uint64_t seed = 1;
};

/// How well a schedule was kept.
struct ScheduleFigures {
  static constexpr std::uint64_t kLateNs = 100'000'000;  ///< a lag that is said

  double rate_per_s = 0;  ///< 0: there was none
  Arrivals arrivals = Arrivals::constant;
  std::uint64_t sent = 0;
  std::uint64_t unsent = 0;       ///< due within the time of the run, never sent
  std::uint64_t length_ns = 0;    ///< from the start to the last due time
  std::uint64_t max_lag_ns = 0;   ///< the latest that an operation was sent behind its due time
  std::uint64_t last_lag_ns = 0;  ///< the same of the last operation

  /// The load was not the one asked for: an operation was more than 100 ms late, or the last one more than 1
  /// % of the schedule (and more than 10 ms, which any machine may take), or those of more than 10 ms were
  /// never sent.
  [[nodiscard]] bool fell_behind() const noexcept;
  /// Of two threads or clients that ran at the same time: rates and counts add up, lags are the greater.
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
  /// The next operation is sent now, late or in time; its due time.
  std::uint64_t send(std::uint64_t now_ns) noexcept;
  /// No more is sent: what was due before `end_ns` counts as unsent.
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
  runtime::Random random_;
  std::uint64_t start_ns_ = 0;
  double offset_ns_ = 0;  // of the next operation from the start
  std::uint64_t number_ = 0;
  std::uint64_t next_ns_ = 0;
  ScheduleFigures figures_;
};

}  // namespace mxkv::bench
