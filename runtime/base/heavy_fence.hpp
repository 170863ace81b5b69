// An asymmetric fence: the rare side pays, the frequent side needs only a compiler barrier.
//
// light_fence() in thread A and heavy_fence() in thread B order like two seq_cst fences. At least one of them
// sees the other's earlier stores. Where the kernel offers it, the heavy side is
// membarrier(PRIVATE_EXPEDITED); otherwise both sides are seq_cst fences. ThreadSanitizer models neither, so
// in its builds nothing may rely on these for data-race freedom: they order atomics only.
#pragma once

#include <atomic>

namespace mxkv::runtime {

namespace detail {
extern const bool membarrier_available;  // decided once at start-up
}

/// The rare side: a full fence in every thread of this process. Thread-safety: any thread. About 1-5 us.
void heavy_fence() noexcept;

/// The frequent side. Thread-safety: any thread.
inline void light_fence() noexcept {
  if (detail::membarrier_available) [[likely]] {
    std::atomic_signal_fence(std::memory_order_seq_cst);
  } else {
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
}

}  // namespace mxkv::runtime
