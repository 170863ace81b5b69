// The entries of a leaf, copied out a line at a time.
//
// As in line_compare.hpp there are two twins: by vectors of two words, which every x86-64 has, and elsewhere,
// and under sanitizers, by relaxed words. The copies count once the version held.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "index/line_compare.hpp"
#include "index/node.hpp"

#ifdef MXKV_VECTOR_COMPARE
#include <emmintrin.h>
#endif

namespace mxkv::index {

namespace line_copy {

/// Copies the eight words of a line, each with its bits of `flip` turned over. `out` has room for eight.
inline void by_words(const runtime::RelaxedWord* line, std::uint64_t* out, std::uint64_t flip) noexcept {
#pragma GCC unroll 8
  for (unsigned i = 0; i < 8; ++i) {
    out[i] = line[i].load() ^ flip;
  }
}

#ifdef MXKV_VECTOR_COMPARE
/// by_words(). The line is aligned as lines are.
[[gnu::always_inline]] inline void by_vectors(const runtime::RelaxedWord* line, std::uint64_t* out,
                                              std::uint64_t flip) noexcept {
  const __m128i flips = _mm_set1_epi64x(static_cast<long long>(flip));
#pragma GCC unroll 4
  for (unsigned i = 0; i < 8; i += 2) {
    __m128i pair;
    asm volatile("movdqa %1, %0" : "=x"(pair) : "m"(*reinterpret_cast<const __m128i*>(line + i)));
    pair = _mm_xor_si128(pair, flips);
    // By words, which are loaded again soon: a store that crosses lines would not be forwarded.
    _mm_storel_epi64(reinterpret_cast<__m128i*>(out + i), pair);
    _mm_storeh_pd(reinterpret_cast<double*>(out + i + 1), _mm_castsi128_pd(pair));
  }
}
#endif

[[gnu::always_inline]] inline void copy(const runtime::RelaxedWord* line, std::uint64_t* out,
                                        std::uint64_t flip) noexcept {
#ifdef MXKV_VECTOR_COMPARE
  by_vectors(line, out, flip);
#else
  by_words(line, out, flip);
#endif
}

}  // namespace line_copy

struct LeafEntries {
  static constexpr unsigned kMax = NodeMeta::kMaxBlocks * NodeMeta::kMaxSlots;
  static constexpr unsigned kMostHints = 16;
  std::array<std::uint64_t, kMax> heads;
  std::array<std::uint64_t, kMax + kMostHints + NodeMeta::kMaxSlots> values;
  unsigned count = 0;

  /// Adds the entries of the blocks [first, last) of a leaf. Copies whole lines, so that nothing is counted;
  /// the next block's entries overwrite the words behind a block's entries.
  template <class Shape>
  [[gnu::always_inline]] void add(const Node<Shape>& leaf, NodeMeta meta, unsigned first,
                                  unsigned last) noexcept {
    for (unsigned block = first; block < last; ++block) {
      line_copy::copy(leaf.leaf_line(block, 0), &heads[count], std::uint64_t{1} << 63U);  // of a rank
      line_copy::copy(leaf.leaf_line(block, 1), &values[count], 0);
      count += Node<Shape>::clamp_count(meta, block);
    }
  }

  /// Puts values of the first entries of another leaf behind the added entries, and returns how many, at most
  /// `most`. They serve only to prefetch records, since no version validates them.
  template <class Shape>
  unsigned hint(const Node<Shape>& leaf, unsigned most) noexcept {
    const NodeMeta meta = leaf.meta();
    const unsigned blocks = std::min(meta.blocks(), Shape::blocks(true));
    most = std::min(most, kMostHints);
    unsigned hints = 0;
    for (unsigned block = 0; block < blocks && hints < most; ++block) {
      line_copy::copy(leaf.leaf_line(block, 1), &values[count + hints], 0);
      hints += Node<Shape>::clamp_count(meta, block);
    }
    return std::min(hints, most);
  }
};

}  // namespace mxkv::index
