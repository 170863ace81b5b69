// Compares a search key with the eight words of one cache line at once: the inner loop of every search.
//
// Three ways to do so: a line by one AVX-512 instruction, half a line by each of two of AVX2, and a loop over
// relaxed words, which sanitizers must have, since they have to see each access. What the processor has is found
// out at run time; a loop over many lines asks once for all of them (in_best_way()), a single comparison each
// time (AsFound). The environment variable MXKV_VECTORS keeps a process from using more: "avx2", or "none".
//
// Vectors are loaded through inline assembly, since C++ has no atomic vector load: words are whole (aligned eight
// bytes), but may be of different versions, so callers clamp what they get and validate it before they rely on it.
// The one exception of server/ARCHITECTURE.md, "The memory model".
//
// Vector units compare signed numbers, so nodes hold *ranks*: heads with the sign bit flipped.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

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

/// The instructions that lines are compared by.
enum class vectors : std::uint8_t { none, avx2, avx512 };
[[nodiscard]] constexpr const char* vectors_name(vectors which) noexcept {
  return which == vectors::avx512 ? "avx512" : (which == vectors::avx2 ? "avx2" : "none");
}

/// What the processor has and this build can use.
[[nodiscard]] inline vectors best_vectors() noexcept {
#ifdef MXKV_VECTOR_COMPARE
  if (__builtin_cpu_supports("avx512f") != 0) {
    return vectors::avx512;
  }
  return __builtin_cpu_supports("avx2") != 0 ? vectors::avx2 : vectors::none;
#else
  return vectors::none;
#endif
}
/// The same, or less if the environment says so.
[[nodiscard]] inline vectors allowed_vectors(const char* most) noexcept {
  const vectors best = best_vectors();
  for (const vectors which : {vectors::none, vectors::avx2}) {
    if (most != nullptr && std::strcmp(most, vectors_name(which)) == 0) {
      return std::min(best, which);
    }
  }
  return best;
}
/// Those that this process uses.
inline const vectors kVectors = allowed_vectors(std::getenv("MXKV_VECTORS"));

// Each way tells of the eight words at `line`: above(): bit i is set when word i is above `rank`; below(): when
// it is below.

struct ByWords {
  [[nodiscard]] static unsigned above(const void* line, Rank rank) noexcept {
    return above_by_words(static_cast<const Word*>(line), 8, rank);
  }
  [[nodiscard]] static unsigned below(const void* line, Rank rank) noexcept {
    return below_by_words(static_cast<const Word*>(line), 8, rank);
  }
};

#ifdef MXKV_VECTOR_COMPARE
using LineBytes = unsigned char[64];

/// AVX2: half a line at once.
struct ByHalves {
  [[nodiscard, gnu::always_inline]] static unsigned above(const void* line, Rank rank) noexcept {
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
  [[nodiscard, gnu::always_inline]] static unsigned below(const void* line, Rank rank) noexcept {
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
};

#ifdef __AVX512F__
#define MXKV_WIDE_CLOBBERS "xmm16", "k1"
#else
#define MXKV_WIDE_CLOBBERS  // registers that the compiler does not use
#endif

/// AVX-512: a line at once. Registers from 16 on leave no state behind that older instructions would wait for.
struct ByLines {
  [[nodiscard, gnu::always_inline]] static unsigned above(const void* line, Rank rank) noexcept {
    unsigned mask = 0;
    asm volatile(
        "vpbroadcastq %[rank], %%zmm16\n\t"
        "vpcmpq $1, %[line], %%zmm16, %%k1\n\t"  // less: rank < word
        "kmovw %%k1, %[mask]"
        : [mask] "=r"(mask)
        : [rank] "r"(rank), [line] "m"(*static_cast<const LineBytes*>(line))
        : MXKV_WIDE_CLOBBERS);
    return mask;
  }
  [[nodiscard, gnu::always_inline]] static unsigned below(const void* line, Rank rank) noexcept {
    unsigned mask = 0;
    asm volatile(
        "vpbroadcastq %[rank], %%zmm16\n\t"
        "vpcmpq $6, %[line], %%zmm16, %%k1\n\t"  // not less or equal: rank > word
        "kmovw %%k1, %[mask]"
        : [mask] "=r"(mask)
        : [rank] "r"(rank), [line] "m"(*static_cast<const LineBytes*>(line))
        : MXKV_WIDE_CLOBBERS);
    return mask;
  }
};
#undef MXKV_WIDE_CLOBBERS
#endif

/// Asks at each comparison.
struct AsFound {
  [[nodiscard, gnu::always_inline]] static unsigned above(const void* line, Rank rank) noexcept {
#ifdef MXKV_VECTOR_COMPARE
    if (kVectors != vectors::none) [[likely]] {
      return kVectors == vectors::avx512 ? ByLines::above(line, rank) : ByHalves::above(line, rank);
    }
#endif
    return ByWords::above(line, rank);
  }
  [[nodiscard, gnu::always_inline]] static unsigned below(const void* line, Rank rank) noexcept {
#ifdef MXKV_VECTOR_COMPARE
    if (kVectors != vectors::none) [[likely]] {
      return kVectors == vectors::avx512 ? ByLines::below(line, rank) : ByHalves::below(line, rank);
    }
#endif
    return ByWords::below(line, rank);
  }
};

/// Calls f(way) for a loop over many lines.
template <class F>
[[gnu::always_inline]] inline auto in_best_way(const F& f) {
#if defined(MXKV_ONE_WAY)
  return f(AsFound{});  // where compiling the loops so often takes longer than running them
#else
#ifdef MXKV_VECTOR_COMPARE
  if (kVectors == vectors::avx512) [[likely]] {
    return f(ByLines{});
  }
  if (kVectors == vectors::avx2) {
    return f(ByHalves{});
  }
#endif
  return f(ByWords{});
#endif
}

}  // namespace line_compare
}  // namespace mxkv::index
