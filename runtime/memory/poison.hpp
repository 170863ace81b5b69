// Tells AddressSanitizer which blocks are free, so that a use after release is reported although the memory
// stays mapped and is reused by us. Without AddressSanitizer every function here is empty or a plain access.
//
// A free block keeps its list link in its first eight bytes; those stay poisoned too and are opened only for
// the moment of the access. Does not help ThreadSanitizer, which sees the hand-over of blocks by itself.
#pragma once

#include <cstddef>
#include <cstring>

#if defined(__SANITIZE_ADDRESS__)
#define MXKV_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MXKV_ADDRESS_SANITIZER 1
#endif
#endif

#ifdef MXKV_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#endif

namespace mxkv::runtime::detail {

#ifdef MXKV_ADDRESS_SANITIZER
inline constexpr bool kPoisoningActive = true;
inline void poison(const void* start, std::size_t bytes) noexcept {
  __asan_poison_memory_region(start, bytes);
}
inline void unpoison(const void* start, std::size_t bytes) noexcept {
  __asan_unpoison_memory_region(start, bytes);
}
#else
inline constexpr bool kPoisoningActive = false;
inline void poison(const void* /*start*/, std::size_t /*bytes*/) noexcept {}
inline void unpoison(const void* /*start*/, std::size_t /*bytes*/) noexcept {}
#endif

/// The block that follows `block` in a free list. Owner of the list only.
[[nodiscard]] inline void* read_link(const void* block) noexcept {
  void* next = nullptr;
  unpoison(block, sizeof next);
  std::memcpy(static_cast<void*>(&next), block, sizeof next);
  poison(block, sizeof next);
  return next;
}

/// Makes `next` follow `block` in a free list. The link is poisoned afterwards. Owner of the list only.
inline void write_link(void* block, void* next) noexcept {
  unpoison(block, sizeof next);
  std::memcpy(block, static_cast<const void*>(&next), sizeof next);
  poison(block, sizeof next);
}

}  // namespace mxkv::runtime::detail
