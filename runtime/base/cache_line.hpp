// Cache lines: their size, prefetch hints and the spin-wait hint.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mxkv::runtime {

inline constexpr std::size_t kCacheLineBytes = 64;

// Prefetches are volatile assembly where we know the instruction. To g++ 12 a function that does nothing but
// __builtin_prefetch is pure. Calls of it are dropped (measured: look-ups as slow as without).

/// Hints that the line at `address` will be read. Any address is legal; nothing is dereferenced.
inline void prefetch_read(const void* address) noexcept {
#if defined(__x86_64__)
  asm volatile("prefetcht0 %0" : : "m"(*static_cast<const char*>(address)));
#elif defined(__aarch64__)
  asm volatile("prfm pldl1keep, %0" : : "Q"(*static_cast<const char*>(address)));
#else
  __builtin_prefetch(address, 0, 3);
#endif
}

/// prefetch_read() of the n-th line behind `first`. A line that does not exist does no harm.
inline void prefetch_line(const void* first, std::size_t n) noexcept {
  prefetch_read(reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(first) + n * kCacheLineBytes));
}

/// prefetch_read() of `count` lines from `first` on.
inline void prefetch_lines(const void* first, std::size_t count) noexcept {
  for (std::size_t n = 0; n < count; ++n) {
    prefetch_line(first, n);
  }
}

/// prefetch_read() of a line and of up to three behind it, while `goes_on(n)` says that there is an n-th: an
/// unrolled loop.
template <class GoesOn>
[[gnu::always_inline]] inline void prefetch_few(const void* first, const GoesOn& goes_on) noexcept {
  prefetch_read(first);
  if (goes_on(1)) {
    prefetch_line(first, 1);
    if (goes_on(2)) {
      prefetch_line(first, 2);
      if (goes_on(3)) {
        prefetch_line(first, 3);
      }
    }
  }
}

/// Tells the core that this is a spin loop.
inline void cpu_relax() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield" ::: "memory");
#endif
}

}  // namespace mxkv::runtime
