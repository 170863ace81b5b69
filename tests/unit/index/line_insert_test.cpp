// Each twin of the line insert against the scalar twin's definition, on the instructions that this machine
// has.
#include "index/line_insert.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "runtime/base/random.hpp"

namespace mxkv::index {
namespace {

using line_insert::drops;
using line_insert::kWords;
using Words = std::array<std::uint64_t, kWords>;

/// A line between two others, which nothing may touch.
struct alignas(64) Lines {
  std::array<runtime::RelaxedWord, 3 * kWords> words;
  runtime::RelaxedWord* line() { return &words[kWords]; }

  explicit Lines(const Words& from) {
    for (unsigned i = 0; i < words.size(); ++i) {
      words[i].store(i / kWords == 1 ? from[i % kWords] : kAround);
    }
  }
  [[nodiscard]] bool untouched_around() const {
    return std::all_of(words.begin(), words.begin() + kWords, is_around) &&
           std::all_of(words.begin() + 2 * kWords, words.end(), is_around);
  }
  [[nodiscard]] Words held() const {
    Words held{};
    for (unsigned i = 0; i < kWords; ++i) {
      held[i] = words[kWords + i].load();
    }
    return held;
  }

 private:
  static constexpr std::uint64_t kAround = 0x5A5A5A5A5A5A5A5A;
  static bool is_around(const runtime::RelaxedWord& word) { return word.load() == kAround; }
};

Words expected(Words words, drops which, unsigned slot, std::uint64_t word) {
  std::vector<std::uint64_t> stays(words.begin() + (which == drops::first ? 1 : 0),
                                   words.end() - (which == drops::last ? 1 : 0));
  stays.insert(stays.begin() + slot, word);
  std::copy(stays.begin(), stays.end(), words.begin());
  return words;
}

template <class Put>
void expect_puts(drops which, const Put& put) {
  runtime::Random random{7};
  for (int i = 0; i < 2'000; ++i) {
    Words words{};
    std::generate(words.begin(), words.end(), random);
    const auto slot = static_cast<unsigned>(i) % kWords;
    const std::uint64_t word = random();
    Lines lines{words};
    put(lines.line(), slot, word);
    ASSERT_EQ(lines.held(), expected(words, which, slot, word)) << slot;
    ASSERT_TRUE(lines.untouched_around());
  }
}

TEST(LineInsert, PutsAWordWhereTheOthersMakeRoom) {
  expect_puts(drops::last, line_insert::put_by_words<drops::last>);
  expect_puts(drops::first, line_insert::put_by_words<drops::first>);
  expect_puts(drops::last, line_insert::put<drops::last>);
  expect_puts(drops::first, line_insert::put<drops::first>);
}

#ifdef MXKV_VECTOR_COMPARE
TEST(LineInsert, PutsAWordByHalvesOfALine) {
  if (line_compare::best_vectors() < line_compare::vectors::avx2) {
    GTEST_SKIP() << "this processor has no AVX2";
  }
  expect_puts(drops::last, line_insert::put_by_half_lines<drops::last>);
  expect_puts(drops::first, line_insert::put_by_half_lines<drops::first>);
}

TEST(LineInsert, PutsAWordByWholeLines) {
  if (line_compare::best_vectors() < line_compare::vectors::avx512) {
    GTEST_SKIP() << "this processor has no AVX-512";
  }
  expect_puts(drops::last, line_insert::put_by_whole_lines<drops::last>);
  expect_puts(drops::first, line_insert::put_by_whole_lines<drops::first>);
}
#endif

TEST(LineInsert, DividesALineAmongTwoOfWhichOneMayBeItself) {
  runtime::Random random{8};
  for (int i = 0; i < 2'000; ++i) {
    Words words{};
    std::generate(words.begin(), words.end(), random);
    const unsigned slots = i % 2 == 0 ? kWords : 2 + 2 * static_cast<unsigned>(random.below(3));
    Words low{};
    Words high{};
    low.fill(42);
    high.fill(42);
    std::copy_n(words.begin(), slots / 2, low.begin());
    std::copy_n(words.begin() + slots / 2, slots / 2, high.begin());
    Lines from{words};
    Lines to_low{Words{}};
    Lines to_high{Words{}};
    line_insert::halve(from.line(), slots, to_low.line(), to_high.line(), 42);
    ASSERT_EQ(to_low.held(), low);
    ASSERT_EQ(to_high.held(), high);
    ASSERT_EQ(from.held(), words);
    line_insert::halve(from.line(), slots, from.line(), to_high.line(), 42);
    ASSERT_EQ(from.held(), low);
    ASSERT_EQ(to_high.held(), high);
    ASSERT_TRUE(from.untouched_around() && to_low.untouched_around() && to_high.untouched_around());
  }
}

/// Two lines, and words to both sides of them.
struct alignas(64) TwoLines {
  std::array<runtime::RelaxedWord, 4 * kWords> words;
  TwoLines() {
    for (runtime::RelaxedWord& word : words) {
      word.store(kBefore);
    }
  }
  runtime::RelaxedWord* lines() { return &words[kWords]; }
  static constexpr std::uint64_t kBefore = 17;
};

TEST(LineInsert, FillsTwoLinesAndTakesThemOut) {
  runtime::Random random{9};
  for (unsigned i = 0; i < 2'000; ++i) {
    std::array<std::uint64_t, kWords + 3> first{};
    std::array<std::uint64_t, kWords + 3> second{};
    std::generate(first.begin(), first.end(), random);
    std::generate(second.begin(), second.end(), random);
    const unsigned count = i % (kWords + 1);
    const auto from = static_cast<std::ptrdiff_t>(random.below(4));
    TwoLines filled;
    line_insert::fill(filled.lines(), first.data() + from, second.data() + from, count, 42);
    Words keys{};
    Words values{};
    line_insert::take(filled.lines(), keys.data(), values.data());
    for (unsigned n = 0; n < kWords; ++n) {
      const std::size_t at = n + static_cast<std::size_t>(from);
      ASSERT_EQ(keys[n], n < count ? first[at] : 42);
      ASSERT_EQ(values[n], second[at]);
      ASSERT_EQ(keys[n], filled.lines()[n].load());
      ASSERT_EQ(values[n], filled.lines()[kWords + n].load());
      ASSERT_EQ(filled.words[n].load(), TwoLines::kBefore);
      ASSERT_EQ(filled.words[3 * kWords + n].load(), TwoLines::kBefore);
    }
  }
}

}  // namespace
}  // namespace mxkv::index
