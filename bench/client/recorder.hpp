// Where a client thread counts: the second it is in, and the sum of those behind it.
//
// An operation is counted in the tally of the current second alone, so that the series costs an operation
// nothing; once a second that tally is added to the sum, handed in to the series and emptied. What ends
// within the warm-up goes to a sum of its own. An operation belongs to the second in which its reply came.
#pragma once

#include <cstdint>

#include "bench/client/series.hpp"
#include "bench/client/tally.hpp"

namespace mxkv::bench {

/// What ended within the warm-up: in no figure but these, yet a failure is one there too.
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
  /// To be called before something that ended now is counted.
  void tick(std::uint64_t now_ns) {
    if (now_ns >= slice_end_ns_) {
      roll(now_ns);
    }
  }
  /// Where to count; valid as long as the recorder.
  [[nodiscard]] Tally& current() noexcept { return current_; }
  /// The run is over; what is left of a second is handed in.
  void finish(std::uint64_t now_ns);

  /// All that ended, warm-up included.
  [[nodiscard]] std::uint64_t operations() const noexcept { return done_ + current_.operations(); }
  /// What was measured; whole after finish().
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
