// A worker's prefetching: what its options ask for, and the tuner that chooses where they leave it open.
#include "runtime/scheduler/runtime.hpp"

namespace mxkv::runtime {

void Worker::set_prefetch(const PrefetchOptions& options) {
  tuner_ = options.mode == prefetch_mode::tuned ? std::make_unique<PrefetchTuner>(options.window) : nullptr;
  put_in_force(tuner_ != nullptr ? tuner_->setting() : options);
}

void Worker::put_in_force(const PrefetchOptions& options) noexcept {
  buffer_.configure(options);
  prefetch_in_force_.store(PrefetchInForce{options.mode, tuner_ != nullptr, options.distance},
                           std::memory_order_relaxed);
}

void Worker::run_tuned(std::uint64_t executed) noexcept {
  const std::uint64_t before = executed_;
  if (!tuner_->wants_time()) {
    run_look(executed);
    tuner_->add_untimed(executed_ - before);
    return;
  }
  const std::uint64_t start_ns = runtime_.clock().monotonic_ns();
  run_look(executed);
  if (tuner_->add(executed_ - before, runtime_.clock().monotonic_ns() - start_ns)) {
    put_in_force(tuner_->setting());
  }
}

}  // namespace mxkv::runtime
