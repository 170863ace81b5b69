// The change feed by hand: messages as owners write them, and the resulting changes.
#include "server/cluster/change_feed.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace mxkv::test {
namespace {

using namespace server;

constexpr MessageScope kShard{.cluster = 5, .shard = 2};

std::string open(std::uint64_t term, std::uint64_t node) {
  return write_message(
      {.kind = message_kind::open, .shard = 2, .cluster = 5, .term = term, .node = node, .body = {}});
}
std::string group(std::uint64_t term, std::uint64_t node, std::uint64_t sequence, std::string_view body,
                  std::uint32_t part = 0, std::uint32_t parts = 1) {
  return write_message({.kind = message_kind::group,
                        .shard = 2,
                        .cluster = 5,
                        .term = term,
                        .sequence = sequence,
                        .node = node,
                        .epoch = 9,
                        .part = part,
                        .parts = parts,
                        .body = body});
}
std::string put(std::string_view key, std::string_view value, std::uint64_t order) {
  std::string body;
  RecordBody::add_record(body, PutRecord{.order = order, .key = key, .value = value});
  return body;
}

struct Fed : testing::Test {
  std::vector<std::string> told;
  ChangeFeed feed{kShard, [this](const FedChange& change) { told.push_back(change_json(change)); }};
  LogPosition at = 100;
  void read(const std::string& bytes) { feed.message(at++, bytes); }
};

TEST_F(Fed, ReportsEachValidChangeOnce) {
  read(open(1, 7));
  read(group(1, 7, 1, put("a", "1", 11)));
  read(group(1, 7, 1, put("a", "1", 11)));  // its acknowledgement was lost
  read(open(2, 8));
  read(group(1, 7, 2, put("a", "void", 12)));  // from the previous owner
  read(group(2, 8, 1, put("a", "2", 13)));
  read("no message");
  EXPECT_EQ(
      told,
      (std::vector<std::string>{
          R"({"shard":2,"position":101,"term":1,"order":11,"change":"put","key":"a","value":"1","flags":0})",
          R"({"shard":2,"position":105,"term":2,"order":13,"change":"put","key":"a","value":"2","flags":0})"}));
  EXPECT_EQ(feed.discarded(), 1U);
  EXPECT_EQ(feed.messages(), 7U);
}

TEST_F(Fed, AGroupIsReportedWholeAndInTheOrderOfItsKeys) {
  const std::string body = put("k", "newer", 22) + put("k", "older", 21);
  read(open(1, 7));
  read(group(1, 7, 1, std::string_view{body}.substr(0, 10), 0, 2));
  EXPECT_TRUE(told.empty());
  read(group(1, 7, 2, std::string_view{body}.substr(10), 1, 2));
  ASSERT_EQ(told.size(), 2U);
  EXPECT_NE(told[0].find("older"), std::string::npos);
  EXPECT_NE(told[1].find("newer"), std::string::npos);
}

TEST_F(Fed, BeginsInTheMiddleOfATerm) {
  read(group(3, 9, 41, put("x", "", 5), 1, 2));  // the end of a group whose begin came before
  read(group(3, 9, 42, put("y", "1", 6)));
  read(group(3, 9, 43, put("z", "1", 7)));
  ASSERT_EQ(told.size(), 2U);
  EXPECT_NE(told[0].find(R"("key":"y")"), std::string::npos);
}

TEST_F(Fed, BeginsAmongGroupsOfAnOustedOwner) {
  read(group(3, 7, 9,
             put("v", "void", 5)));  // the claim of term 4 came before: whether this counts is not known yet
  read(open(4, 6));                  // this message came too late
  read(group(4, 9, 1, put("x", "1", 6), 1, 2));
  read(group(4, 9, 2, put("y", "1", 7)));
  read(open(5, 8));
  read(group(4, 9, 3, put("w", "void", 8)));
  read(group(5, 8, 1, put("z", "1", 9)));
  ASSERT_EQ(told.size(), 3U);
  EXPECT_NE(told[1].find(R"("key":"y")"), std::string::npos);
  EXPECT_NE(told[2].find(R"("key":"z")"), std::string::npos);
}

TEST_F(Fed, AllKindsHaveWords) {
  std::string body;
  RecordBody::add_record(body, GoneRecord{.order = 1, .key = "g"});
  RecordBody::add_record(body, TouchRecord{.order = 2, .key = "t", .expiry = 77});
  RecordBody::add_record(
      body, RangeGoneRecord{.order = 3, .bounds = {.from = "a", .to = "c", .to_is_open = true}, .items = 4});
  RecordBody::add_record(
      body, RangeTouchRecord{.order = 4, .bounds = {.from = "a", .has_no_end = true}, .expiry = 5});
  RecordBody::add_record(body, PutRecord{.order = 5, .key = "\xFF", .value = "v", .flags = 3, .expiry = 9});
  read(open(1, 7));
  read(group(1, 7, 1, body));
  ASSERT_EQ(told.size(), 5U);
  const auto ends = [this](std::size_t i, const std::string& end) {
    EXPECT_TRUE(told[i].ends_with(end)) << told[i];
  };
  ends(0, R"("order":1,"change":"deleted","key":"g"})");
  ends(1, R"("order":2,"change":"touched","key":"t","expires":77})");
  ends(2, R"("order":3,"change":"range_deleted","from":"a","before":"c"})");
  ends(3, R"("order":4,"change":"range_touched","from":"a","expires":5})");
  ends(4, R"("order":5,"change":"put","key_base64":"/w==","value":"v","flags":3,"expires":9})");
}

TEST_F(Fed, SaysThatItsBeginIsGone) {
  EXPECT_FALSE(feed.cut_off());
  feed.begins_later();
  EXPECT_TRUE(feed.cut_off());
}

}  // namespace
}  // namespace mxkv::test
