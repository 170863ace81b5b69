// Cache lines: their size, prefetch hints and the spin-wait hint.
#pragma once

#include <cstddef>

namespace mxkv::runtime {

inline constexpr std::size_t kCacheLineBytes = 64;

/// Hints that the line at `address` will be read. Any address is legal; nothing is dereferenced.
inline void prefetch_read(const void* address) noexcept {
  __builtin_prefetch(address, 0, 3);
}

/// Hints that the line at `address` will be written.
inline void prefetch_write(const void* address) noexcept {
  __builtin_prefetch(address, 1, 3);
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
