// Compares a search key with the eight words of one cache line at once: the inner loop of every search.
//
// One wrapper, two twins. With AVX2 (found out at run time) it is four instructions on two vector registers;
// elsewhere, and under sanitizers, which must see each access, a loop over relaxed words. The vector twin
// loads through inline assembly, since C++ has no atomic vector load: words are whole (aligned eight bytes),
// but may be of different versions, so callers clamp what they get and validate it before they rely on it.
// The one exception of server/ARCHITECTURE.md, "The memory model".
//
// Vector units compare signed numbers, so nodes hold *ranks*: heads with the sign bit flipped.
#pragma once

#include <cstdint>

#include "runtime/base/relaxed_word.hpp"

#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
#define MXKV_VECTOR_COMPARE 1
#endif
#if defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#undef MXKV_VECTOR_COMPARE
#endif
#endif

namespace mxkv::index {

/// The order of heads as a signed number.
using Rank = std::int64_t;
[[nodiscard]] constexpr Rank rank_of_head(std::uint64_t head) noexcept {
  return static_cast<Rank>(head ^ (std::uint64_t{1} << 63U));
}
/// Of the greatest head, which unused slots and fences hold.
inline constexpr Rank kGreatestRank = rank_of_head(~std::uint64_t{0});
[[nodiscard]] constexpr std::uint64_t head_of_rank(std::uint64_t rank) noexcept {
  return rank ^ (std::uint64_t{1} << 63U);
}

namespace line_compare {

using Word = runtime::RelaxedWord;

/// Bit i is set when word i is above `rank`. Of `count` words.
[[nodiscard]] inline unsigned above_by_words(const Word* words, unsigned count, Rank rank) noexcept {
  unsigned mask = 0;
#pragma GCC unroll 8
  for (unsigned i = 0; i < count; ++i) {
    mask |= (static_cast<Rank>(words[i].load()) > rank ? 1U : 0U) << i;
  }
  return mask;
}

/// Bit i is set when word i is below `rank`. Of `count` words.
[[nodiscard]] inline unsigned below_by_words(const Word* words, unsigned count, Rank rank) noexcept {
  unsigned mask = 0;
#pragma GCC unroll 8
  for (unsigned i = 0; i < count; ++i) {
    mask |= (static_cast<Rank>(words[i].load()) < rank ? 1U : 0U) << i;
  }
  return mask;
}

#ifdef MXKV_VECTOR_COMPARE
/// Whether this processor has the instructions.
inline const bool kHasVectors = __builtin_cpu_supports("avx2") != 0;

using LineBytes = unsigned char[64];

/// above_by_words() of the eight words at `line`.
[[nodiscard, gnu::always_inline]] inline unsigned above_by_vectors(const void* line, Rank rank) noexcept {
  unsigned low = 0;
  unsigned high = 0;
  asm volatile(
      "vmovq %[rank], %%xmm0\n\t"
      "vpbroadcastq %%xmm0, %%ymm0\n\t"
      "vmovdqu (%[line]), %%ymm1\n\t"
      "vmovdqu 32(%[line]), %%ymm2\n\t"
      "vpcmpgtq %%ymm0, %%ymm1, %%ymm1\n\t"
      "vpcmpgtq %%ymm0, %%ymm2, %%ymm2\n\t"
      "vmovmskpd %%ymm1, %[low]\n\t"
      "vmovmskpd %%ymm2, %[high]\n\t"
      "vzeroupper"
      : [low] "=r"(low), [high] "=r"(high)
      : [rank] "r"(rank), [line] "r"(line), "m"(*static_cast<const LineBytes*>(line))
      : "xmm0", "xmm1", "xmm2");
  return low | high << 4U;
}

/// below_by_words() of the eight words at `line`.
[[nodiscard, gnu::always_inline]] inline unsigned below_by_vectors(const void* line, Rank rank) noexcept {
  unsigned low = 0;
  unsigned high = 0;
  asm volatile(
      "vmovq %[rank], %%xmm0\n\t"
      "vpbroadcastq %%xmm0, %%ymm0\n\t"
      "vpcmpgtq (%[line]), %%ymm0, %%ymm1\n\t"
      "vpcmpgtq 32(%[line]), %%ymm0, %%ymm2\n\t"
      "vmovmskpd %%ymm1, %[low]\n\t"
      "vmovmskpd %%ymm2, %[high]\n\t"
      "vzeroupper"
      : [low] "=r"(low), [high] "=r"(high)
      : [rank] "r"(rank), [line] "r"(line), "m"(*static_cast<const LineBytes*>(line))
      : "xmm0", "xmm1", "xmm2");
  return low | high << 4U;
}
#endif

/// Bit i (0-7) is set when word i of the line is above `rank`.
[[nodiscard, gnu::always_inline]] inline unsigned above(const Word* line, Rank rank) noexcept {
#ifdef MXKV_VECTOR_COMPARE
  if (kHasVectors) [[likely]] {
    return above_by_vectors(line, rank);
  }
#endif
  return above_by_words(line, 8, rank);
}

/// Bit i (0-7) is set when word i of the line is below `rank`.
[[nodiscard, gnu::always_inline]] inline unsigned below(const Word* line, Rank rank) noexcept {
#ifdef MXKV_VECTOR_COMPARE
  if (kHasVectors) [[likely]] {
    return below_by_vectors(line, rank);
  }
#endif
  return below_by_words(line, 8, rank);
}

}  // namespace line_compare
}  // namespace mxkv::index
