#include "bench/client/recorder.hpp"

#include <algorithm>

namespace mxkv::bench {
namespace {

constexpr std::uint64_t kSliceNs = 1'000'000'000;

}  // namespace

void Recorder::start(std::uint64_t start_ns, std::uint64_t warmup_ns) noexcept {
  measure_ns_ = start_ns + warmup_ns;
  slice_start_ns_ = start_ns;
  slice_end_ns_ = warming() ? std::min(start_ns + kSliceNs, measure_ns_) : start_ns + kSliceNs;
}

void Recorder::finish(std::uint64_t now_ns) {
  tick(now_ns);
  close_slice(now_ns);
}

void Recorder::roll(std::uint64_t now_ns) {
  close_slice(slice_end_ns_);
  while (slice_end_ns_ <= now_ns) {  // skips seconds without operations
    slice_start_ns_ = slice_end_ns_;
    slice_end_ns_ =
        warming() ? std::min(slice_start_ns_ + kSliceNs, measure_ns_) : slice_start_ns_ + kSliceNs;
  }
}

void Recorder::close_slice(std::uint64_t end_ns) {
  if (current_.requests() == 0) {
    return;
  }
  const std::uint64_t operations = current_.operations();
  Second second;
  second.length_ns = end_ns - slice_start_ns_;
  second.operations = operations;
  second.failures = current_.failures(false);
  for (std::size_t i = 0; i < kOperationKinds; ++i) {
    const KindTally& kind = current_.kinds[i];
    second.latency[i] = SparseHistogram(paced_ ? kind.intended : kind.latency);
  }
  series_.note(second);
  if (warming()) {
    warmup_.operations += operations;
    warmup_.failures += current_.failures(true);
    warmup_.misses += current_.failures(false) - current_.failures(true);
  } else {
    series_.add((slice_start_ns_ - measure_ns_) / kSliceNs, second);
    measured_.merge(current_);
  }
  done_ += operations;
  current_.clear();
}

}  // namespace mxkv::bench
