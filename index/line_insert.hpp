// Puts a word into a cache line whose other words move over: the inner loop of every insert. The same ways
// fill, copy and halve lines.
//
// One wrapper, three twins: with AVX-512 a line is one register, and the words that stay are spread around
// the new one by one expanding load; with AVX2 each half of the line is moved over by a permutation and
// blended; elsewhere, and under sanitizers, which must see each access, a loop over relaxed words. The vector
// twins go through inline assembly for the same reason as the vectors of line_compare.hpp, and under the same
// rule: words are whole, but a reader may see some old and some new words, so it validates the version.
//
// Thread-safety: the node's writer, or the only task that knows the node.
#pragma once

#include <array>
#include <cstdint>

#include "index/line_compare.hpp"
#include "runtime/base/relaxed_word.hpp"

namespace mxkv::index::line_insert {

using Word = runtime::RelaxedWord;
inline constexpr unsigned kWords = 8;

/// Which word of the line goes.
enum class drops : std::uint8_t { last, first };

/// put() word by word.
template <drops kWhich>
inline void put_by_words(Word* line, unsigned slot, std::uint64_t word) noexcept {
  if constexpr (kWhich == drops::last) {
    for (unsigned i = kWords - 1; i > slot; --i) {
      line[i].store(line[i - 1].load());
    }
  } else {
    for (unsigned i = 0; i < slot; ++i) {
      line[i].store(line[i + 1].load());
    }
  }
  line[slot].store(word);
}

/// halve() of lines of `slots` words.
inline void halve_by_words(const Word* line, unsigned slots, Word* low, Word* high,
                           std::uint64_t unused) noexcept {
  const unsigned half = slots / 2;
  for (unsigned i = 0; i < half; ++i) {
    high[i].store(line[half + i].load());
  }
  for (unsigned i = 0; i < half; ++i) {
    low[i].store(line[i].load());
  }
  for (unsigned i = half; i < kWords; ++i) {
    low[i].store(unused);
    high[i].store(unused);
  }
}

/// fill() word by word.
inline void fill_by_words(Word* lines, const std::uint64_t* first, const std::uint64_t* second,
                          unsigned count, std::uint64_t unused) noexcept {
  for (unsigned i = 0; i < kWords; ++i) {
    lines[i].store(i < count ? first[i] : unused);
    lines[kWords + i].store(second[i]);
  }
}

/// take() word by word.
inline void take_by_words(const Word* lines, std::uint64_t* first, std::uint64_t* second) noexcept {
  for (unsigned i = 0; i < kWords; ++i) {
    first[i] = lines[i].load();
    second[i] = lines[kWords + i].load();
  }
}

#ifdef MXKV_VECTOR_COMPARE
using line_compare::LineBytes;

namespace detail {
/// Words of which any eight in a row are a mask.
template <class Set>
constexpr auto make_window(const Set& set) {
  std::array<std::int64_t, 2 * kWords + 1> window{};
  for (unsigned i = 0; i < window.size(); ++i) {
    window[i] = set(i) ? -1 : 0;
  }
  return window;
}
// From index 8 - slot on, they choose the words before, at, or after the slot.
alignas(64) inline constexpr auto kBefore = make_window([](unsigned i) { return i < kWords; });
alignas(64) inline constexpr auto kAt = make_window([](unsigned i) { return i == kWords; });
alignas(64) inline constexpr auto kAfter = make_window([](unsigned i) { return i > kWords; });
}  // namespace detail

/// put() by halves of a line.
template <drops kWhich>
[[gnu::always_inline]] inline void put_by_half_lines(Word* line, unsigned slot, std::uint64_t word) noexcept {
  const std::int64_t* const at = &detail::kAt[kWords - slot];
  if constexpr (kWhich == drops::last) {
    asm volatile(
        "vmovq %[word], %%xmm5\n\t"
        "vpbroadcastq %%xmm5, %%ymm5\n\t"
        "vmovdqu (%[line]), %%ymm0\n\t"
        "vmovdqu 32(%[line]), %%ymm1\n\t"
        "vpermq $0x90, %%ymm0, %%ymm2\n\t"  // words 0 0 1 2
        "vpermq $0x90, %%ymm1, %%ymm3\n\t"  // 4 4 5 6
        "vpermq $0xFF, %%ymm0, %%ymm4\n\t"
        "vpblendd $0x03, %%ymm4, %%ymm3, %%ymm3\n\t"  // 3 4 5 6
        "vmovdqu (%[moved]), %%ymm4\n\t"
        "vblendvpd %%ymm4, %%ymm2, %%ymm0, %%ymm0\n\t"
        "vmovdqu 32(%[moved]), %%ymm4\n\t"
        "vblendvpd %%ymm4, %%ymm3, %%ymm1, %%ymm1\n\t"
        "vmovdqu (%[at]), %%ymm4\n\t"
        "vblendvpd %%ymm4, %%ymm5, %%ymm0, %%ymm0\n\t"
        "vmovdqu 32(%[at]), %%ymm4\n\t"
        "vblendvpd %%ymm4, %%ymm5, %%ymm1, %%ymm1\n\t"
        "vmovdqu %%ymm0, (%[line])\n\t"
        "vmovdqu %%ymm1, 32(%[line])\n\t"
        "vzeroupper"
        : "+m"(*reinterpret_cast<LineBytes*>(line))
        : [word] "r"(word), [line] "r"(line), [moved] "r"(&detail::kAfter[kWords - slot]), [at] "r"(at)
        : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5");
  } else {
    asm volatile(
        "vmovq %[word], %%xmm5\n\t"
        "vpbroadcastq %%xmm5, %%ymm5\n\t"
        "vmovdqu (%[line]), %%ymm0\n\t"
        "vmovdqu 32(%[line]), %%ymm1\n\t"
        "vpermq $0x39, %%ymm0, %%ymm2\n\t"  // 1 2 3 0
        "vpermq $0x39, %%ymm1, %%ymm3\n\t"  // 5 6 7 4
        "vpermq $0x00, %%ymm1, %%ymm4\n\t"
        "vpblendd $0xC0, %%ymm4, %%ymm2, %%ymm2\n\t"  // 1 2 3 4
        "vmovdqu (%[moved]), %%ymm4\n\t"
        "vblendvpd %%ymm4, %%ymm2, %%ymm0, %%ymm0\n\t"
        "vmovdqu 32(%[moved]), %%ymm4\n\t"
        "vblendvpd %%ymm4, %%ymm3, %%ymm1, %%ymm1\n\t"
        "vmovdqu (%[at]), %%ymm4\n\t"
        "vblendvpd %%ymm4, %%ymm5, %%ymm0, %%ymm0\n\t"
        "vmovdqu 32(%[at]), %%ymm4\n\t"
        "vblendvpd %%ymm4, %%ymm5, %%ymm1, %%ymm1\n\t"
        "vmovdqu %%ymm0, (%[line])\n\t"
        "vmovdqu %%ymm1, 32(%[line])\n\t"
        "vzeroupper"
        : "+m"(*reinterpret_cast<LineBytes*>(line))
        : [word] "r"(word), [line] "r"(line), [moved] "r"(&detail::kBefore[kWords - slot]), [at] "r"(at)
        : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5");
  }
}

#ifdef __AVX512F__
#define MXKV_WHOLE_LINE_CLOBBERS : "xmm16", "k1", "k2"
#else
#define MXKV_WHOLE_LINE_CLOBBERS  // registers that code for this target knows nothing of
#endif
/// put() of a whole line. Seven words in a row stay; they go around the new word's place. A register from 16
/// on leaves nothing behind that older instructions would wait for.
template <drops kWhich>
[[gnu::always_inline]] inline void put_by_whole_lines(Word* line, unsigned slot,
                                                      std::uint64_t word) noexcept {
  const unsigned at = 1U << slot;
  asm volatile(
      "kmovw %[others], %%k1\n\t"
      "kmovw %[at], %%k2\n\t"
      "vpexpandq (%[stays]), %%zmm16%{%%k1%}%{z%}\n\t"
      "vpbroadcastq %[word], %%zmm16%{%%k2%}\n\t"
      "vmovdqu64 %%zmm16, %[line]"
      : [line] "+m"(*reinterpret_cast<LineBytes*>(line))
      : [stays] "r"(line + (kWhich == drops::first ? 1 : 0)), [word] "r"(word), [at] "r"(at),
        [others] "r"(~at & 0xFFU) MXKV_WHOLE_LINE_CLOBBERS);
}
#undef MXKV_WHOLE_LINE_CLOBBERS

using TwoLineBytes = unsigned char[128];

/// fill() of whole lines.
[[gnu::always_inline]] inline void fill_by_half_lines(Word* lines, const std::uint64_t* first,
                                                      const std::uint64_t* second, unsigned count,
                                                      std::uint64_t unused) noexcept {
  asm volatile(
      "vmovq %[unused], %%xmm2\n\t"
      "vpbroadcastq %%xmm2, %%ymm2\n\t"
      "vmovdqu (%[used]), %%ymm0\n\t"
      "vmovdqu 32(%[used]), %%ymm1\n\t"
      "vblendvpd %%ymm0, (%[first]), %%ymm2, %%ymm0\n\t"
      "vblendvpd %%ymm1, 32(%[first]), %%ymm2, %%ymm1\n\t"
      "vmovdqu %%ymm0, (%[lines])\n\t"
      "vmovdqu %%ymm1, 32(%[lines])\n\t"
      "vmovdqu (%[second]), %%ymm0\n\t"
      "vmovdqu 32(%[second]), %%ymm1\n\t"
      "vmovdqu %%ymm0, 64(%[lines])\n\t"
      "vmovdqu %%ymm1, 96(%[lines])\n\t"
      "vzeroupper"
      : "=m"(*reinterpret_cast<TwoLineBytes*>(lines))
      : [lines] "r"(lines), [first] "r"(first), [second] "r"(second),
        [used] "r"(&detail::kBefore[kWords - count]), [unused] "r"(unused),
        "m"(*reinterpret_cast<const LineBytes*>(first)), "m"(*reinterpret_cast<const LineBytes*>(second))
      : "xmm0", "xmm1", "xmm2");
}

/// take() of whole lines.
[[gnu::always_inline]] inline void take_by_half_lines(const Word* lines, std::uint64_t* first,
                                                      std::uint64_t* second) noexcept {
  asm volatile(
      "vmovdqu (%[lines]), %%ymm0\n\t"
      "vmovdqu 32(%[lines]), %%ymm1\n\t"
      "vmovdqu %%ymm0, (%[first])\n\t"
      "vmovdqu %%ymm1, 32(%[first])\n\t"
      "vmovdqu 64(%[lines]), %%ymm0\n\t"
      "vmovdqu 96(%[lines]), %%ymm1\n\t"
      "vmovdqu %%ymm0, (%[second])\n\t"
      "vmovdqu %%ymm1, 32(%[second])\n\t"
      "vzeroupper"
      : "=m"(*reinterpret_cast<LineBytes*>(first)), "=m"(*reinterpret_cast<LineBytes*>(second))
      : [lines] "r"(lines), [first] "r"(first), [second] "r"(second),
        "m"(*reinterpret_cast<const TwoLineBytes*>(lines))
      : "xmm0", "xmm1");
}

/// halve() of whole lines.
[[gnu::always_inline]] inline void halve_by_half_lines(const Word* line, Word* low, Word* high,
                                                       std::uint64_t unused) noexcept {
  asm volatile(
      "vmovq %[unused], %%xmm2\n\t"
      "vpbroadcastq %%xmm2, %%ymm2\n\t"
      "vmovdqu (%[line]), %%ymm0\n\t"
      "vmovdqu 32(%[line]), %%ymm1\n\t"
      "vmovdqu %%ymm1, (%[high])\n\t"
      "vmovdqu %%ymm2, 32(%[high])\n\t"
      "vmovdqu %%ymm0, (%[low])\n\t"
      "vmovdqu %%ymm2, 32(%[low])\n\t"
      "vzeroupper"
      : "=m"(*reinterpret_cast<LineBytes*>(low)), "=m"(*reinterpret_cast<LineBytes*>(high))
      : [line] "r"(line), [low] "r"(low), [high] "r"(high), [unused] "r"(unused),
        "m"(*reinterpret_cast<const LineBytes*>(line))
      : "xmm0", "xmm1", "xmm2");
}
#endif

/// Stores `count` words into the first of two lines, and `unused` behind them; eight words into the second
/// one. Eight words can be read at `first` and at `second`.
[[gnu::always_inline]] inline void fill(Word* lines, const std::uint64_t* first, const std::uint64_t* second,
                                        unsigned count, std::uint64_t unused) noexcept {
#ifdef MXKV_VECTOR_COMPARE
  if (line_compare::kVectors != line_compare::vectors::none) [[likely]] {
    fill_by_half_lines(lines, first, second, count, unused);
    return;
  }
#endif
  fill_by_words(lines, first, second, count, unused);
}

/// Copies all words of two lines out. The copies count once the version held.
[[gnu::always_inline]] inline void take(const Word* lines, std::uint64_t* first,
                                        std::uint64_t* second) noexcept {
#ifdef MXKV_VECTOR_COMPARE
  if (line_compare::kVectors != line_compare::vectors::none) [[likely]] {
    take_by_half_lines(lines, first, second);
    return;
  }
#endif
  take_by_words(lines, first, second);
}

/// Puts `word` into slot 0 to 7 of the line. Either the line's last word goes and the words from the slot on
/// move up, or its first word goes and the words up to the slot move down.
template <drops kWhich>
[[gnu::always_inline]] inline void put(Word* line, unsigned slot, std::uint64_t word) noexcept {
#ifdef MXKV_VECTOR_COMPARE
  if (line_compare::kVectors == line_compare::vectors::avx512) [[likely]] {
    put_by_whole_lines<kWhich>(line, slot, word);
    return;
  }
  if (line_compare::kVectors == line_compare::vectors::avx2) {
    put_by_half_lines<kWhich>(line, slot, word);
    return;
  }
#endif
  put_by_words<kWhich>(line, slot, word);
}

/// The lower half of the line's `slots` words becomes the beginning of `low`, the upper half the beginning of
/// `high`; the rest of both is `unused`. `low` may be `line`.
inline void halve(const Word* line, unsigned slots, Word* low, Word* high, std::uint64_t unused) noexcept {
#ifdef MXKV_VECTOR_COMPARE
  if (slots == kWords && line_compare::kVectors != line_compare::vectors::none) [[likely]] {
    halve_by_half_lines(line, low, high, unused);
    return;
  }
#endif
  halve_by_words(line, slots, low, high, unused);
}

}  // namespace mxkv::index::line_insert
