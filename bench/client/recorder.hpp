// The counters of a client thread: the current second, and the sum of the earlier ones.
//
// An operation is counted only in the tally of the current second, so the series costs an operation nothing.
// Once a second that tally is added to the sum and to the series, and emptied. Operations that end within the
// warm-up go to a sum of their own. An operation belongs to the second in which its reply came.
#pragma once

#include <cstdint>

#include "bench/client/series.hpp"
#include "bench/client/tally.hpp"

namespace mxkv::bench {

/// Operations that ended within the warm-up. They are only in these figures, but their failures are failures
/// of the run.
struct WarmupFigures {
  std::uint64_t operations = 0;
  std::uint64_t misses = 0;
  std::uint64_t failures = 0;  ///< without misses
};

/// Thread-safety: owner only.
class Recorder {
 public:
  /// `paced`: seconds keep the latencies from the due time. `series` must outlive the recorder.
  Recorder(SharedSeries& series, bool paced) noexcept : series_(series), paced_(paced) {}

  /// Counting begins; measuring begins when the warm-up is over. Monotonic nanoseconds.
  void start(std::uint64_t start_ns, std::uint64_t warmup_ns) noexcept;
  /// Call this before counting an operation that ended now.
  void tick(std::uint64_t now_ns) {
    if (now_ns >= slice_end_ns_) {
      roll(now_ns);
    }
  }
  /// The tally to count in; valid as long as the recorder.
  [[nodiscard]] Tally& current() noexcept { return current_; }
  /// Ends the run: adds the rest of the last second.
  void finish(std::uint64_t now_ns);

  /// Operations that ended, warm-up included.
  [[nodiscard]] std::uint64_t operations() const noexcept { return done_ + current_.operations(); }
  /// The measured operations; complete after finish().
  [[nodiscard]] const Tally& measured() const noexcept { return measured_; }
  [[nodiscard]] const WarmupFigures& warmup() const noexcept { return warmup_; }

 private:
  void roll(std::uint64_t now_ns);
  void close_slice(std::uint64_t end_ns);
  [[nodiscard]] bool warming() const noexcept { return slice_start_ns_ < measure_ns_; }

  SharedSeries& series_;
  bool paced_;
  Tally current_;
  Tally measured_;
  WarmupFigures warmup_;
  std::uint64_t done_ = 0;  // operations of measured_ and warmup_
  std::uint64_t measure_ns_ = 0;
  std::uint64_t slice_start_ns_ = 0;
  std::uint64_t slice_end_ns_ = 0;
};

}  // namespace mxkv::bench
