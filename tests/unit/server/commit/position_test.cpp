// Positions are read as they were written, other texts are refused, and the lineage tells our past from others'.
#include "server/commit/position.hpp"

#include <gtest/gtest.h>

#include <string>

namespace mxkv::server::test {
namespace {

using enum position_state;

constexpr std::uint64_t kA = 0xA;
constexpr std::uint64_t kB = 0xB;
constexpr std::uint64_t kC = 0xC;
constexpr std::uint64_t kMax = ~std::uint64_t{0};

TEST(PositionText, IsReadAsItWasWritten) {
  for (const Position& position : {Position{kA, 0}, Position{kMax, kMax}, Position{kB, 1042, "k"},
                                   Position{kB, 1, std::string(250, '\0')}}) {
    EXPECT_EQ(read_position(position_text(position)), position) << position_text(position);
  }
  EXPECT_EQ(position_text({0x9c41e07a55d2b813, 1042}), "9c41e07a55d2b813.1042");
  EXPECT_EQ(position_text({0x9c41e07a55d2b813, 1042, "key"}), "9c41e07a55d2b813.1042.a2V5");
}

TEST(PositionText, OfNoServerIsRefused) {
  const std::string tag = "000000000000000b";
  for (const std::string& text : {std::string{}, tag, tag + ".", tag + ".x", tag + ".-1", tag + ".01",
                                  tag + ".1.", tag + ".1.=", tag + ".1.a2V5.", tag + ".1 ", tag + ".1.a2V",
                                  tag + ".18446744073709551616", "0" + tag + ".1", tag.substr(1) + ".1",
                                  std::string{"000000000000000B.1"}, std::string{"0000000000000000.1"},
                                  std::string{"000000000000000g.1"}, tag + ".1." + std::string(336, 'A')}) {
    EXPECT_EQ(read_position(text), std::nullopt) << text;
  }
}

Lineage two_starts() {
  Lineage lineage;
  lineage.begin(kA, 1);
  lineage.begin(kB, 10);
  return lineage;
}

TEST(Lineage, KnowsHowFarEachProcessCame) {
  const Lineage lineage = two_starts();
  const ToldEpochs told{.oldest = 0, .last = 20};
  EXPECT_EQ(lineage.tag(), kB);
  EXPECT_EQ(lineage.judge(kA, 0, told), ok);
  EXPECT_EQ(lineage.judge(kA, 9, told), ok);
  EXPECT_EQ(lineage.judge(kA, 10, told), lost) << "epoch 10 of that process never became durable";
  EXPECT_EQ(lineage.judge(kB, 9, told), ok) << "from the start on";
  EXPECT_EQ(lineage.judge(kB, 20, told), ok);
  EXPECT_EQ(lineage.judge(kB, 21, told), lost);
  EXPECT_EQ(lineage.judge(kC, 5, told), lost) << "of another server";
}

TEST(Lineage, ATagStandsForTheHistoryBeforeItToo) {
  EXPECT_EQ(two_starts().judge(kB, 3, {.oldest = 0, .last = 20}), ok);
  EXPECT_EQ(two_starts().judge(kB, kMax, {.oldest = 0, .last = 20}), lost);
}

TEST(Lineage, WhatWasTrimmedIsOld) {
  const Lineage lineage = two_starts();
  const ToldEpochs told{.oldest = 5, .last = 20};
  EXPECT_EQ(lineage.judge(kA, 4, told), old);
  EXPECT_EQ(lineage.judge(kA, 5, told), ok);
  EXPECT_EQ(lineage.judge(kA, 12, {.oldest = 15, .last = 20}), lost) << "lost outweighs old";
}

TEST(Lineage, AStartThatFindsLessForgetsLaterTags) {
  Lineage lineage = two_starts();
  lineage.begin(kC, 7);
  const ToldEpochs told{.oldest = 0, .last = 30};
  EXPECT_EQ(lineage.judge(kA, 6, told), ok);
  EXPECT_EQ(lineage.judge(kA, 7, told), lost) << "the new process has another epoch 7";
  EXPECT_EQ(lineage.judge(kB, 9, told), lost);
  EXPECT_EQ(lineage.judge(kC, 30, told), ok);
}

TEST(Lineage, AStartBehindNoNewEpochKeepsThePositionBefore) {
  Lineage lineage = two_starts();
  lineage.begin(kC, 10);
  EXPECT_EQ(lineage.judge(kB, 9, {.oldest = 0, .last = 12}), ok);
  EXPECT_EQ(lineage.judge(kB, 10, {.oldest = 0, .last = 12}), lost);
}

TEST(Lineage, KeepsTheLast64Tags) {
  Lineage lineage;
  for (std::uint64_t tag = 1; tag <= Lineage::kMost + 1; ++tag) {
    lineage.begin(tag, tag);
  }
  EXPECT_EQ(lineage.entries().size(), Lineage::kMost);
  EXPECT_FALSE(lineage.knows(1));
  EXPECT_TRUE(lineage.knows(2));
  EXPECT_FALSE(lineage.knows(draw_tag(lineage)));
}

}  // namespace
}  // namespace mxkv::server::test
