// Compares a search key with the eight words of one cache line at once: the inner loop of every search.
//
// There are three ways: a line by one AVX-512 instruction, half a line by each of two AVX2 instructions, or a
// loop over relaxed words. Sanitizers need the loop, since they have to see each access. The process finds
// out at run time which instructions the processor has. A loop over many lines asks once for all of them
// (in_best_way()), a single comparison asks each time (AsFound). The environment variable MXKV_VECTORS limits
// a process to "avx2", or "none".
//
// Vectors are loaded through inline assembly, since C++ has no atomic vector load: words are whole (aligned
// eight bytes), but may be of different versions, so callers clamp the result and validate it before they
// rely on it. This is the one exception of server/architecture/memory.md, "The memory model".
//
// Vector units compare signed numbers, so nodes hold *ranks*: heads with the sign bit flipped.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
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
/// The rank of the greatest head, which unused slots and fences hold.
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

/// The best instructions that the processor has and this build can use.
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
/// The same, or less if the environment names less.
[[nodiscard]] inline vectors allowed_vectors(const char* most) noexcept {
  const vectors best = best_vectors();
  for (const vectors which : {vectors::none, vectors::avx2}) {
    if (most != nullptr && std::strcmp(most, vectors_name(which)) == 0) {
      return std::min(best, which);
    }
  }
  return best;
}
/// The instructions that this process uses.
inline const vectors kVectors = allowed_vectors(std::getenv("MXKV_VECTORS"));

// Each way compares the eight words at `line` with `rank`:
//   above()              bit i is set when word i is above
//   below()              bit i is set when word i is below
//   count_below()        how many words of a line in order are below
// And for the fast path of a search:
//   bounds_below()       a bit for each word that is below: kLastBound for the last word, the bits of
//                        kInnerBounds for the five before it, in any order
//   through<Blocks>()    bounds_below() of a node's first line, how many of kInnerBounds are set, and
//                        count_below() of the line that is so many strides behind another one

inline constexpr unsigned kLastBound = 1U << 7U;
inline constexpr unsigned kInnerBounds = 0x7C;

/// Where the lines of a node are, in bytes from its first one.
template <unsigned FirstT, unsigned StrideT, unsigned BytesT>
struct Blocks {
  static constexpr unsigned kFirst = FirstT;
  static constexpr unsigned kStride = StrideT;
  using Node = unsigned char[BytesT];
};
/// The result of through(). Where kLastBound is one of the bounds, only the bounds count.
struct Through {
  unsigned bounds;
  std::size_t offset;  ///< of the line, from the first one: a number of strides
  unsigned below;      ///< how many of the line's words
};

struct ByWords {
  [[nodiscard]] static unsigned above(const void* line, Rank rank) noexcept {
    return above_by_words(static_cast<const Word*>(line), 8, rank);
  }
  [[nodiscard]] static unsigned below(const void* line, Rank rank) noexcept {
    return below_by_words(static_cast<const Word*>(line), 8, rank);
  }
  [[nodiscard]] static unsigned count_below(const void* line, Rank rank) noexcept {
    return static_cast<unsigned>(std::countr_one(below(line, rank)));
  }
  [[nodiscard]] static unsigned bounds_below(const void* line, Rank rank) noexcept {
    return below_by_words(static_cast<const Word*>(line) + 2, 6, rank) << 2U;
  }
  [[nodiscard]] static unsigned inner_bounds(unsigned bounds) noexcept {
    return static_cast<unsigned>(std::popcount(bounds & kInnerBounds));
  }
  template <class BlocksT>
  [[nodiscard]] static Through through(const void* node, Rank rank) noexcept {
    const unsigned bounds = bounds_below(node, rank);
    const std::size_t offset = std::size_t{inner_bounds(bounds)} * BlocksT::kStride;
    return {bounds, offset,
            count_below(static_cast<const std::byte*>(node) + BlocksT::kFirst + offset, rank)};
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
  // Packed, so that one mask has a bit for each word, in the order 0 1 4 5 2 3 6 7.
  [[nodiscard, gnu::always_inline]] static unsigned count_below(const void* line, Rank rank) noexcept {
    unsigned count = 0;
    asm volatile(
        "vmovq %[rank], %%xmm0\n\t"
        "vpbroadcastq %%xmm0, %%ymm0\n\t"
        "vpcmpgtq (%[line]), %%ymm0, %%ymm1\n\t"
        "vpcmpgtq 32(%[line]), %%ymm0, %%ymm2\n\t"
        "vpackssdw %%ymm2, %%ymm1, %%ymm1\n\t"
        "vmovmskps %%ymm1, %[count]\n\t"
        "popcntl %[count], %[count]\n\t"
        "vzeroupper"
        : [count] "=r"(count)
        : [rank] "r"(rank), [line] "r"(line), "m"(*static_cast<const LineBytes*>(line))
        : "cc", "xmm0", "xmm1", "xmm2");
    return count;
  }
  [[nodiscard, gnu::always_inline]] static unsigned bounds_below(const void* line, Rank rank) noexcept {
    unsigned bounds = 0;
    asm volatile(
        "vmovq %[rank], %%xmm0\n\t"
        "vpbroadcastq %%xmm0, %%ymm0\n\t"
        "vpcmpgtq (%[line]), %%ymm0, %%ymm1\n\t"
        "vpcmpgtq 32(%[line]), %%ymm0, %%ymm2\n\t"
        "vpackssdw %%ymm2, %%ymm1, %%ymm1\n\t"
        "vmovmskps %%ymm1, %[bounds]\n\t"
        "vzeroupper"
        : [bounds] "=r"(bounds)
        : [rank] "r"(rank), [line] "r"(line), "m"(*static_cast<const LineBytes*>(line))
        : "xmm0", "xmm1", "xmm2");
    return bounds;
  }
  [[nodiscard, gnu::always_inline]] static unsigned inner_bounds(unsigned bounds) noexcept {
    return count_ones(bounds & kInnerBounds);
  }
  /// Every processor with these vectors has the instruction.
  [[nodiscard, gnu::always_inline]] static unsigned count_ones(unsigned mask) noexcept {
    unsigned count = 0;
    asm("popcntl %[mask], %[count]" : [count] "=r"(count) : [mask] "0"(mask) : "cc");
    return count;
  }
  template <class BlocksT>
  [[nodiscard, gnu::always_inline]] static Through through(const void* node, Rank rank) noexcept {
    unsigned bounds = 0;  // not in a Through yet: what assembly writes into a struct goes through memory
    std::size_t offset = 0;
    unsigned below = 0;
    asm volatile(
        "vmovq %[rank], %%xmm0\n\t"
        "vpbroadcastq %%xmm0, %%ymm0\n\t"
        "vpcmpgtq (%[node]), %%ymm0, %%ymm1\n\t"
        "vpcmpgtq 32(%[node]), %%ymm0, %%ymm2\n\t"
        "vpackssdw %%ymm2, %%ymm1, %%ymm1\n\t"
        "vmovmskps %%ymm1, %[bounds]\n\t"
        "movl %[bounds], %k[offset]\n\t"
        "andl %[inner], %k[offset]\n\t"
        "popcntl %k[offset], %k[offset]\n\t"
        "imull %[stride], %k[offset], %k[offset]\n\t"
        "vpcmpgtq %c[first](%[node], %q[offset]), %%ymm0, %%ymm1\n\t"
        "vpcmpgtq %c[first]+32(%[node], %q[offset]), %%ymm0, %%ymm2\n\t"
        "vpackssdw %%ymm2, %%ymm1, %%ymm1\n\t"
        "vmovmskps %%ymm1, %[below]\n\t"
        "popcntl %[below], %[below]\n\t"
        "vzeroupper"
        : [bounds] "=&r"(bounds), [offset] "=&r"(offset), [below] "=&r"(below)
        : [rank] "r"(rank), [node] "r"(node), [inner] "i"(kInnerBounds), [first] "i"(BlocksT::kFirst),
          [stride] "i"(BlocksT::kStride), "m"(*static_cast<const typename BlocksT::Node*>(node))
        : "cc", "xmm0", "xmm1", "xmm2");
    return {bounds, offset, below};
  }
};

#ifdef __AVX512F__
#define MXKV_WIDE_CLOBBERS "xmm16", "k1"
#define MXKV_WIDE_AND_CLOBBERS , "xmm16", "k1"
#else
#define MXKV_WIDE_CLOBBERS  // registers that the compiler does not use
#define MXKV_WIDE_AND_CLOBBERS
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
  [[nodiscard, gnu::always_inline]] static unsigned count_below(const void* line, Rank rank) noexcept {
    return ByHalves::count_ones(below(line, rank));
  }
  [[nodiscard, gnu::always_inline]] static unsigned bounds_below(const void* line, Rank rank) noexcept {
    return below(line, rank);
  }
  [[nodiscard, gnu::always_inline]] static unsigned inner_bounds(unsigned bounds) noexcept {
    return ByHalves::inner_bounds(bounds);
  }
  template <class BlocksT>
  [[nodiscard, gnu::always_inline]] static Through through(const void* node, Rank rank) noexcept {
    unsigned bounds = 0;  // not in a Through yet: what assembly writes into a struct goes through memory
    std::size_t offset = 0;
    unsigned below = 0;
    asm volatile(
        "vpbroadcastq %[rank], %%zmm16\n\t"
        "vpcmpq $6, (%[node]), %%zmm16, %%k1\n\t"
        "kmovw %%k1, %[bounds]\n\t"
        "movl %[bounds], %k[offset]\n\t"
        "andl %[inner], %k[offset]\n\t"
        "popcntl %k[offset], %k[offset]\n\t"
        "imull %[stride], %k[offset], %k[offset]\n\t"
        "vpcmpq $6, %c[first](%[node], %q[offset]), %%zmm16, %%k1\n\t"
        "kmovw %%k1, %[below]\n\t"
        "popcntl %[below], %[below]"
        : [bounds] "=&r"(bounds), [offset] "=&r"(offset), [below] "=&r"(below)
        : [rank] "r"(rank), [node] "r"(node), [inner] "i"(kInnerBounds), [first] "i"(BlocksT::kFirst),
          [stride] "i"(BlocksT::kStride), "m"(*static_cast<const typename BlocksT::Node*>(node))
        : "cc" MXKV_WIDE_AND_CLOBBERS);
    return {bounds, offset, below};
  }
};
#undef MXKV_WIDE_CLOBBERS
#undef MXKV_WIDE_AND_CLOBBERS
#endif

/// Calls f(way) for a loop over many lines.
template <class F>
[[gnu::always_inline]] inline auto in_best_way(const F& f) {
#ifdef MXKV_VECTOR_COMPARE
  if (kVectors == vectors::avx512) [[likely]] {
    return f(ByLines{});
  }
  if (kVectors == vectors::avx2) {
    return f(ByHalves{});
  }
#endif
  return f(ByWords{});
}

/// Asks at each comparison.
struct AsFound {
  [[nodiscard, gnu::always_inline]] static unsigned above(const void* line, Rank rank) noexcept {
    return in_best_way([&](auto way) { return way.above(line, rank); });
  }
  [[nodiscard, gnu::always_inline]] static unsigned below(const void* line, Rank rank) noexcept {
    return in_best_way([&](auto way) { return way.below(line, rank); });
  }
  [[nodiscard, gnu::always_inline]] static unsigned count_below(const void* line, Rank rank) noexcept {
    return in_best_way([&](auto way) { return way.count_below(line, rank); });
  }
  [[nodiscard, gnu::always_inline]] static unsigned bounds_below(const void* line, Rank rank) noexcept {
    return in_best_way([&](auto way) { return way.bounds_below(line, rank); });
  }
  [[nodiscard]] static unsigned inner_bounds(unsigned bounds) noexcept {
    return ByWords::inner_bounds(bounds);
  }
  template <class BlocksT>
  [[nodiscard, gnu::always_inline]] static Through through(const void* node, Rank rank) noexcept {
    return in_best_way([&](auto way) { return way.template through<BlocksT>(node, rank); });
  }
};

}  // namespace line_compare
}  // namespace mxkv::index
