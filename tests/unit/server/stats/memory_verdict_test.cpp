// The verdict on memory, rule by rule: usual figures give no line.
#include "server/stats/memory_verdict.hpp"

#include <gtest/gtest.h>

#include <string>

namespace mxkv::server {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;

/// A server that is half full and has no fault.
MemoryFacts usual() {
  return {.limit = 1000 * kMiB,
          .used = 500 * kMiB,
          .item_spans = 400 * kMiB,
          .item_blocks = 380 * kMiB,
          .unread = kMiB,
          .unfinished = kMiB,
          .retired = kMiB,
          .expired = kMiB,
          .items = 300 * kMiB};
}

/// The only line.
std::string told(const MemoryFacts& facts) {
  const std::vector<std::string> lines = memory_verdict(facts);
  EXPECT_EQ(lines.size(), 1U);
  return lines.front();
}

TEST(MemoryVerdict, IsThatAllIsWellOfAnEmptyAndOfAUsualServer) {
  EXPECT_EQ(told({.limit = 1000 * kMiB}), "all is well");
  EXPECT_EQ(told(usual()), "all is well");
}

TEST(MemoryVerdict, TellsTheFateOfWritesToAFullServer) {
  MemoryFacts facts = usual();
  facts.used = 960 * kMiB;
  EXPECT_EQ(told(facts), "memory is full: 960MiB of 1000MiB; items will be evicted soon");
  facts.evictions = 12;
  EXPECT_NE(told(facts).find("12 items were evicted so far"), std::string::npos);
  facts.evicts = false;
  facts.refusals = 3;
  EXPECT_NE(told(facts).find("3 writes were refused (memory.when_full: error)"), std::string::npos);
}

TEST(MemoryVerdict, TellsHowUnusedItemMemoryComesBack) {
  MemoryFacts facts = usual();
  facts.item_blocks = 200 * kMiB;
  EXPECT_EQ(
      told(facts),
      "fragmented: 200MiB of 400MiB held for items are unused; items are moved together in the background");
  facts.evacuates = false;
  EXPECT_NE(told(facts).find("memory.evacuation: true would"), std::string::npos);
  facts.item_spans = 3 * kMiB;
  facts.item_blocks = kMiB;
  EXPECT_EQ(told(facts), "all is well") << "a little is no matter";
}

TEST(MemoryVerdict, TellsTheBytesThatClientsHold) {
  MemoryFacts facts = usual();
  facts.unread = 20 * kMiB;
  EXPECT_EQ(told(facts).substr(0, 29), "clients read slowly: 20MiB of");
  facts = usual();
  facts.unfinished = 20 * kMiB;
  EXPECT_EQ(told(facts).substr(0, 29), "requests arrive slowly: 20MiB");
}

TEST(MemoryVerdict, TellsTheBytesThatAreNotGivenBack) {
  MemoryFacts facts = usual();
  facts.retired = 20 * kMiB;
  EXPECT_EQ(told(facts).substr(0, 26), "freed memory waits: 20MiB;");
  facts = usual();
  facts.expired = 60 * kMiB;
  EXPECT_EQ(told(facts), "about 60MiB of 300MiB of item memory hold expired items; a sweep will remove them");
  facts = usual();
  facts.unplaced = 2;
  EXPECT_EQ(told(facts).substr(0, 26), "2 arenas of memory could n");
}

TEST(MemoryVerdict, TellsAllOfIt) {
  MemoryFacts facts = usual();
  facts.used = facts.limit;
  facts.unread = facts.retired = 50 * kMiB;
  EXPECT_EQ(memory_verdict(facts).size(), 3U);
}

}  // namespace
}  // namespace mxkv::server
