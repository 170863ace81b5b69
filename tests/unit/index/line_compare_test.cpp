// The vector twin of the line comparison against the scalar one, and both against the order of heads.
#include "index/line_compare.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "runtime/base/random.hpp"

namespace mxkv::index {
namespace {

struct alignas(64) Line {
  std::array<runtime::RelaxedWord, 8> words;
};

/// Heads of all sizes, many of them equal or next to each other.
std::uint64_t any_head(runtime::Random& random) {
  switch (random.below(4)) {
    case 0:
      return random();
    case 1:
      return random.below(4);
    case 2:
      return ~random.below(4);
    default:
      return (std::uint64_t{1} << 63U) - 2 + random.below(4);
  }
}

TEST(LineCompare, RanksKeepTheOrderOfHeads) {
  runtime::Random random{1};
  for (int i = 0; i < 10'000; ++i) {
    const std::uint64_t a = any_head(random);
    const std::uint64_t b = any_head(random);
    ASSERT_EQ(a < b, rank_of_head(a) < rank_of_head(b)) << a << ' ' << b;
    ASSERT_EQ(head_of_rank(static_cast<std::uint64_t>(rank_of_head(a))), a);
  }
}

template <class Way>
void expect_masks(const Line& line, Rank rank, unsigned above, unsigned below) {
  ASSERT_EQ(Way::above(line.words.data(), rank), above);
  ASSERT_EQ(Way::below(line.words.data(), rank), below);
}

TEST(LineCompare, TellsForEachWordWhetherItIsAboveOrBelow) {
  runtime::Random random{2};
  for (int i = 0; i < 10'000; ++i) {
    Line line;
    std::array<std::uint64_t, 8> heads{};
    const std::uint64_t key = any_head(random);
    unsigned above = 0;
    unsigned below = 0;
    for (unsigned j = 0; j < 8; ++j) {
      heads[j] = random.below(4) == 0 ? key : any_head(random);
      line.words[j].store(static_cast<std::uint64_t>(rank_of_head(heads[j])));
      above |= heads[j] > key ? 1U << j : 0U;
      below |= heads[j] < key ? 1U << j : 0U;
    }
    const Rank rank = rank_of_head(key);
    ASSERT_EQ(line_compare::above_by_words(line.words.data(), 8, rank), above);
    ASSERT_EQ(line_compare::below_by_words(line.words.data(), 8, rank), below);
    expect_masks<line_compare::ByWords>(line, rank, above, below);
    expect_masks<line_compare::AsFound>(line, rank, above, below);
#ifdef MXKV_VECTOR_COMPARE
    // With all vectors that the machine has.
    if (line_compare::best_vectors() >= line_compare::vectors::avx2) {
      expect_masks<line_compare::ByHalves>(line, rank, above, below);
    }
    if (line_compare::best_vectors() >= line_compare::vectors::avx512) {
      expect_masks<line_compare::ByLines>(line, rank, above, below);
    }
#endif
  }
}

/// Two header words, five fences and the high one in order; then blocks in order, two lines each.
struct alignas(64) SmallNode {
  static constexpr unsigned kBlocks = 6;
  std::array<runtime::RelaxedWord, 8 + kBlocks * 16> words;
  using Where = line_compare::Blocks<64, 128, sizeof(runtime::RelaxedWord) * (8 + kBlocks * 16)>;
};

template <class Way>
void expect_found(const SmallNode& node, Rank limit, unsigned fences, bool past, unsigned below) {
  const unsigned bounds = Way::bounds_below(&node, limit);
  ASSERT_EQ(Way::inner_bounds(bounds), fences);
  ASSERT_EQ((bounds & line_compare::kLastBound) != 0, past);
  const line_compare::Through found = Way::template through<SmallNode::Where>(&node, limit);
  ASSERT_EQ((found.bounds & line_compare::kLastBound) != 0, past);
  ASSERT_EQ(found.offset, std::size_t{fences} * 128);
  ASSERT_EQ(found.below, below);
  ASSERT_EQ(Way::count_below(&node.words[8 + fences * 16], limit), below);
}

TEST(LineCompare, GoesThroughANodeByItsBounds) {
  runtime::Random random{3};
  for (int i = 0; i < 10'000; ++i) {
    SmallNode node;
    std::array<std::uint64_t, 6 + SmallNode::kBlocks * 8> heads{};
    for (std::uint64_t& head : heads) {
      head = any_head(random);
    }
    std::sort(heads.begin(), heads.begin() + 6);
    const std::uint64_t key = random.below(2) == 0 ? heads[random.below(heads.size())] : any_head(random);
    const Rank limit = rank_of_head(key);
    const auto below = [&](auto first, auto last) {
      return static_cast<unsigned>(
          std::count_if(first, last, [&](std::uint64_t head) { return head < key; }));
    };
    node.words[0].store(random());
    node.words[1].store(random());
    for (unsigned j = 0; j < 6; ++j) {
      node.words[2 + j].store(static_cast<std::uint64_t>(rank_of_head(heads[j])));
    }
    for (unsigned block = 0; block < SmallNode::kBlocks; ++block) {
      const auto first = heads.begin() + 6 + block * 8;
      std::sort(first, first + 8);
      for (unsigned j = 0; j < 8; ++j) {
        node.words[8 + block * 16 + j].store(static_cast<std::uint64_t>(rank_of_head(first[j])));
      }
    }
    const unsigned fences = below(heads.begin(), heads.begin() + 5);
    const bool past = heads[5] < key;
    const auto block = heads.begin() + 6 + fences * 8;
    const unsigned in_block = below(block, block + 8);
    expect_found<line_compare::ByWords>(node, limit, fences, past, in_block);
    expect_found<line_compare::AsFound>(node, limit, fences, past, in_block);
#ifdef MXKV_VECTOR_COMPARE
    if (line_compare::best_vectors() >= line_compare::vectors::avx2) {
      expect_found<line_compare::ByHalves>(node, limit, fences, past, in_block);
    }
    if (line_compare::best_vectors() >= line_compare::vectors::avx512) {
      expect_found<line_compare::ByLines>(node, limit, fences, past, in_block);
    }
#endif
  }
}

TEST(LineCompare, UsesNoMoreThanTheEnvironmentAllows) {
  using line_compare::allowed_vectors;
  using line_compare::vectors;
  const vectors best = line_compare::best_vectors();
  EXPECT_EQ(allowed_vectors(nullptr), best);
  EXPECT_EQ(allowed_vectors("none"), vectors::none);
  EXPECT_EQ(allowed_vectors("avx2"), std::min(best, vectors::avx2));
  EXPECT_EQ(allowed_vectors("avx512"), best);
  EXPECT_EQ(allowed_vectors("something"), best);
}

TEST(LineCompare, ALoopOverLinesGoesTheWayThatTheProcessUses) {
  using line_compare::vectors;
  const vectors taken = line_compare::in_best_way([](auto way) {
#ifdef MXKV_VECTOR_COMPARE
    if (std::is_same_v<decltype(way), line_compare::ByLines>) {
      return vectors::avx512;
    }
    if (std::is_same_v<decltype(way), line_compare::ByHalves>) {
      return vectors::avx2;
    }
#endif
    return std::is_same_v<decltype(way), line_compare::ByWords> ? vectors::none : vectors::avx512;
  });
  EXPECT_EQ(taken, line_compare::kVectors);
}

}  // namespace
}  // namespace mxkv::index
