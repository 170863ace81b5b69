// The commands of administrators and tools: accepted, refused, and answered without effect.
#include <gtest/gtest.h>

#include "protocol/reply.hpp"
#include "tests/unit/protocol/parsed_line.hpp"

namespace mxkv::protocol {
namespace {

TEST(Stats, TheGroupIsGivenWithoutWhatFollowsIt) {
  EXPECT_EQ(ParsedLine("stats\r\n")->argument, "");
  EXPECT_EQ(ParsedLine("stats  items \r\n")->argument, "items");
  EXPECT_EQ(ParsedLine("stats reset now then\r\n")->argument, "reset");
  EXPECT_EQ(ParsedLine("stats detail on \r\n")->argument, "detail on");
  EXPECT_EQ(ParsedLine("stats\r\n")->op, verb::stats);
}

TEST(Verbosity, NeedsALevel) {
  const ParsedLine line("verbosity 1\r\n");
  ASSERT_TRUE(line.accepted());
  EXPECT_EQ(line->op, verb::verbosity);
  EXPECT_EQ(line->verbosity, 1U);
  EXPECT_TRUE(ParsedLine("verbosity 1 noreply\r\n")->noreply);
  for (const std::string_view text : {"verbosity x", "verbosity -1"}) {
    expect_refused(text, kBadFormat);
  }
  expect_refused("verbosity noreply", kSilence);
  EXPECT_TRUE(ParsedLine("verbosity 1 2\r\n").accepted()) << "one word means nothing";
  expect_refused("verbosity", kError);
  expect_refused("verbosity 1 2 3", kError);
}

TEST(CacheMemlimit, NeedsANumberOfMebibytes) {
  const ParsedLine line("cache_memlimit 1024 noreply\r\n");
  ASSERT_TRUE(line.accepted());
  EXPECT_EQ(line->op, verb::cache_memlimit);
  EXPECT_EQ(line->mebibytes, 1024U);
  EXPECT_TRUE(line->noreply);
  for (const std::string_view text :
       {"cache_memlimit", "cache_memlimit x", "cache_memlimit -1", "cache_memlimit 1 2"}) {
    expect_refused(text, kError);
  }
}

TEST(Shutdown, KnowsItsTwoWays) {
  EXPECT_TRUE(ParsedLine("shutdown\r\n")->shutdown_known);
  EXPECT_TRUE(ParsedLine("shutdown graceful\r\n")->shutdown_known);
  EXPECT_EQ(ParsedLine("shutdown graceful\r\n")->argument, "graceful");
  EXPECT_FALSE(ParsedLine("shutdown now\r\n")->shutdown_known);
  EXPECT_FALSE(ParsedLine("shutdown graceful x\r\n")->shutdown_known);
}

TEST(Debugtime, TakesAWordOrSeconds) {
  EXPECT_EQ(ParsedLine("debugtime p\r\n")->argument, "p");
  EXPECT_EQ(ParsedLine("debugtime r\r\n")->argument, "r");
  EXPECT_EQ(ParsedLine("debugtime -50\r\n")->exptime, -50);
  for (const std::string_view text : {"debugtime", "debugtime x", "debugtime 1 2", "debugtime p p"}) {
    expect_refused(text, kError);
  }
}

TEST(Config, GetsByAPatternAndSetsAllThatIsLeftOfTheLine) {
  EXPECT_EQ(ParsedLine("config get\r\n")->op, verb::config_get);
  EXPECT_EQ(ParsedLine("config get\r\n")->argument, "");
  EXPECT_EQ(ParsedLine("config get limits.* \r\n")->argument, "limits.*");
  EXPECT_EQ(ParsedLine("config get cluster.*\r\n")->argument, "cluster.*");
  expect_refused("config get cluster", kError);
  const ParsedLine line("config set log.file  a file.log \r\n");
  ASSERT_TRUE(line.accepted());
  EXPECT_EQ(line->op, verb::config_set);
  EXPECT_EQ(line->argument, "log.file");
  EXPECT_EQ(line->setting, "a file.log");
  for (const std::string_view text :
       {"config", "config set", "config set a", "config get a b", "config x a b"}) {
    expect_refused(text, "CLIENT_ERROR usage: config get [pattern], config set <option> <value>\r\n");
  }
}

TEST(RefreshCerts, TakesWhateverStandsBehindIt) {
  for (const std::string_view line : {"refresh_certs\r\n", "refresh_certs now\r\n"}) {
    EXPECT_EQ(ParsedLine(line)->op, verb::refresh_certs);
  }
  expect_refused("refresh_cert", kError);
}

TEST(Watch, KnowsFourKindsAndBeginsWithFetchers) {
  EXPECT_EQ(ParsedLine("watch\r\n")->watched, 1U);
  EXPECT_EQ(ParsedLine("watch fetchers\r\n")->watched, 1U);
  EXPECT_EQ(ParsedLine("watch mutations deletions\r\n")->watched, 10U);
  EXPECT_EQ(ParsedLine("watch evictions\r\n")->watched, 4U);
  expect_refused("watch fetchers x", kError);
}

TEST(Cachedump, TellsHowManyLinesOfItsClass) {
  EXPECT_EQ(ParsedLine("stats cachedump 1 0\r\n")->op, verb::cachedump);
  EXPECT_EQ(ParsedLine("stats cachedump 1 0\r\n")->dump_lines, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(ParsedLine("stats cachedump 1 7 \r\n")->dump_lines, 7U);
  EXPECT_EQ(ParsedLine("stats cachedump 0 7\r\n")->dump_lines, 0U);
  EXPECT_EQ(ParsedLine("stats cachedump 63 0\r\n")->dump_lines, 0U);
  EXPECT_EQ(ParsedLine("stats cachedumps\r\n")->op, verb::stats);
  expect_refused("stats cachedump", "CLIENT_ERROR bad command line\r\n");
  expect_refused("stats cachedump 1", "CLIENT_ERROR bad command line\r\n");
  expect_refused("stats cachedump x 1", kBadFormat);
  expect_refused("stats cachedump 1 x", kBadFormat);
  expect_refused("stats cachedump 64 0", "CLIENT_ERROR Illegal slab id\r\n");
}

TEST(LruCrawler, DumpsAreCommandsAndTuningHasNoEffect) {
  EXPECT_EQ(ParsedLine("lru_crawler metadump all\r\n")->op, verb::metadump);
  EXPECT_EQ(ParsedLine("lru_crawler mgdump all\r\n")->op, verb::mgdump);
  for (const char* text : {"lru_crawler enable\r\n", "lru_crawler disable\r\n", "lru_crawler sleep 100\r\n",
                           "lru_crawler tocrawl 0\r\n", "lru_crawler crawl all\r\n", "lru mode flat\r\n",
                           "lru tune 10 25 0.1 2.0\r\n", "lru temp_ttl -1\r\n", "slabs automove 1\r\n"}) {
    const ParsedLine line(text);
    ASSERT_TRUE(line.accepted()) << text;
    EXPECT_EQ(line->op, verb::tune) << text;
  }
  for (const std::string_view text :
       {"lru_crawler", "lru_crawler x", "lru_crawler x y", "lru_crawler metadump",
        "lru_crawler metadump all all", "lru", "lru mode x", "lru tune 1", "slabs", "slabs x",
        "lru_crawler 1 2 3 4 5 6 7"}) {
    expect_refused(text, kError);
  }
  expect_refused("lru_crawler sleep x", kBadFormat);
  expect_refused("lru_crawler sleep 1000001", "CLIENT_ERROR sleep must be one second or less\r\n");
  expect_refused("lru_crawler metadump 3", "CLIENT_ERROR items are in no classes: use all\r\n");
  expect_refused("slabs reassign 1 2", "CLIENT_ERROR slab reassignment disabled\r\n");
  expect_refused("slabs reassign 1 2 noreply", kSilence);
  EXPECT_TRUE(ParsedLine("lru_crawler enable noreply\r\n")->noreply);
}

}  // namespace
}  // namespace mxkv::protocol
