// YCSB's command lines become ours.
#include "bench/client/arguments.hpp"

#include <gtest/gtest.h>

#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace mxkv::bench {
namespace {

std::vector<std::string> words(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> found;
  for (std::string word; stream >> word;) {
    found.push_back(word);
  }
  return found;
}

void expect_translation(const std::string& given, const std::string& wanted) {
  const auto translated = translate_arguments(words(given));
  ASSERT_TRUE(translated.ok()) << given;
  EXPECT_EQ(translated.value(), words(wanted)) << given;
}

TEST(Arguments, OfBinYcsbAreUnderstood) {
  expect_translation(
      "load redis -s -P workloada -p redis.host=h -threads 4 -target 100 -l first",
      "load -p db=redis -p status=true -P workloada -p redis.host=h -p threadcount=4 -p target=100 "
      "-p label=first");
  expect_translation("run -P a -P b", "run -P a -P b");
}

TEST(Arguments, OfYcsbsClientAreUnderstood) {
  expect_translation("-load -db memcached -P w", "load -p db=memcached -P w");
  expect_translation("-db site.ycsb.db.RedisClient -P w -t", "run -p db=site.ycsb.db.RedisClient -P w");
}

TEST(Arguments, ThatNamePropertiesAreSetWhereTheyStand) {
  expect_translation("run --recordcount 5 -p recordcount=6 --recordcount=7",
                     "run -p recordcount=5 -p recordcount=6 -p recordcount=7");
  expect_translation("run --threads 2 --target=3", "run -p threadcount=2 -p target=3");
  expect_translation("run --status-interval 1", "run -p status.interval=1 -p status=true");
  expect_translation("load --value-bytes 64 --key-bytes 24",
                     "load -p fieldcount=1 -p fieldlength=64 -p zeropadding=20");
}

TEST(Arguments, OfOthersAreLeftAlone) {
  expect_translation("run --server h:1 --depth 2", "run --server h:1 --depth 2");
  expect_translation("other -threads run load", "other -threads run load");
  expect_translation("run -p load -P run", "run -p load -P run");
  expect_translation("--help", "--help");
  expect_translation("", "");
}

TEST(Arguments, WithoutTheirValueAreAnError) {
  for (const auto& [line, problem] :
       {std::pair{"run -threads", "-threads: a value must follow"},
        std::pair{"run --recordcount", "--recordcount: a value must follow"},
        std::pair{"run -l", "-l: a value must follow"},
        std::pair{"run --key-bytes 22", "--key-bytes: '22' is not within 23 to 250"},
        std::pair{"run --key-bytes x", "--key-bytes: 'x' is not within 23 to 250"}}) {
    const auto translated = translate_arguments(words(line));
    ASSERT_FALSE(translated.ok()) << line;
    EXPECT_EQ(translated.error().message, problem);
  }
}

TEST(Arguments, NameEveryPropertyFlagOnce) {
  std::set<std::string_view> seen;
  for (const PropertyFlag& flag : property_flags()) {
    EXPECT_TRUE(seen.insert(flag.flag).second) << flag.flag;
    EXPECT_FALSE(flag.help.empty()) << flag.flag;
  }
}

}  // namespace
}  // namespace mxkv::bench
