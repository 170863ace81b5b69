#include "runtime/scheduler/prefetch_control.hpp"

namespace mxkv::runtime {

void PrefetchControl::set(const PrefetchOptions& options, PrefetchBuffer& buffer) {
  tuner_ = options.mode == prefetch_mode::tuned ? std::make_unique<PrefetchTuner>(options.window) : nullptr;
  put_in_force(tunes() ? tuner_->setting() : options, buffer);
}

void PrefetchControl::put_in_force(const PrefetchOptions& options, PrefetchBuffer& buffer) noexcept {
  MXKV_ASSERT(options.mode != prefetch_mode::tuned, "a tuner has chosen before");
  buffer.configure(options);
  in_force_.store(PrefetchInForce{options.mode, tunes(), options.distance}, std::memory_order_relaxed);
}

}  // namespace mxkv::runtime
