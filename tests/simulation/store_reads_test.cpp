// Reads of a pipeline that start together: most are answered at once, the others by tasks, and no client can tell.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/simulation/store_yard.hpp"

namespace mxkv::simulation {
namespace {

constexpr std::size_t kItems = 60;
constexpr std::size_t kWarming = server::RequestOrder::kStreak + 1;  // then keys are not noted any more

/// Workers that take turns after a few tasks each.
runtime::RuntimeOptions in_turns() {
  runtime::RuntimeOptions options = runtime::testing::unpinned(2);
  options.batch_tasks = 3;
  return options;
}

std::string key_of(std::size_t n) {
  return "k" + std::to_string(1000 + n);
}

std::string value_of(std::size_t n) {
  return std::to_string(n * n) + std::string(n * 5 % 300, 'v');
}

void fill_leaves(Yard& yard) {
  for (std::size_t n = 0; n < kItems; ++n) {
    const std::string value = value_of(n);
    ASSERT_EQ(
        asked(yard, "set " + key_of(n) + " 0 0 " + std::to_string(value.size()) + "\r\n" + value + "\r\n"),
        "STORED\r\n");
  }
}

/// A pipeline of the first client.
void plan(Yard& yard, const std::vector<std::string>& lines) {
  std::vector<StoreRequest> requests;
  for (const std::string& line : lines) {
    StoreRequest request{.text = line, .shape = reply_shape::line, .recorded = false};
    request.op.lines.push_back({});
    requests.push_back(std::move(request));
  }
  yard.clients[0].plan(std::move(requests));
  static_cast<void>(yard.clients[0].send_planned(~std::size_t{0}));
}

TEST(StoreReads, MostReadsThatStartTogetherAreAnsweredBeforeTheirStartReturns) {
  Yard yard{one_bucket(), in_turns()};
  fill_leaves(yard);
  plan(yard, std::vector<std::string>(kWarming, "get absent\r\n"));
  yard.machine.run_until_idle();
  static_cast<void>(said(yard));
  const auto reads = [&yard] {
    return yard.store.total(server::counter::get_hits) + yard.store.total(server::counter::get_misses) -
           kWarming;
  };
  std::vector<std::string> lines;
  std::string expected;
  for (std::size_t i = 0; i < 100; ++i) {
    const std::size_t n = i * 37 % 90;  // a third of the keys are absent
    const std::string size = std::to_string(value_of(n).size());
    const bool meta = i % 5 == 1;
    lines.push_back(meta ? "mg " + key_of(n) + " v\r\n" : "get " + key_of(n) + "\r\n");
    if (n < kItems) {
      expected += meta ? "VA " + size + "\r\n" : "VALUE " + key_of(n) + " 0 " + size + "\r\n";
      expected += value_of(n) + "\r\n";
    }
    expected += meta ? (n < kItems ? "" : "EN\r\n") : "END\r\n";
  }
  plan(yard, lines);
  EXPECT_GT(reads(), 50U) << "a key that ties with a separator, or lacks a prefix, is left to a task";
  const std::string at_once = said(yard);
  yard.machine.run_until_idle();
  EXPECT_EQ(at_once + said(yard), expected);
  EXPECT_EQ(reads(), 100U) << "each is counted once";
  EXPECT_EQ(yard.store.total(server::counter::cmd_meta), 20U);
  EXPECT_EQ(yard.clients[0].entries().front()->order.in_flight(), 0U);
}

TEST(StoreReads, UnusualReadsAmongOthersAreAnsweredInTheirOrder) {
  Yard yard{one_bucket(), in_turns()};
  fill_leaves(yard);
  const std::string large(20'000, 'l');
  ASSERT_EQ(asked(yard, "set large 0 0 20000\r\n" + large + "\r\n"), "STORED\r\n");
  ASSERT_EQ(asked(yard, "set flagged 77 0 3\r\nabc\r\n"), "STORED\r\n");
  ASSERT_EQ(asked(yard, "set mortal 0 5 1\r\n1\r\n"), "STORED\r\n");
  yard.machine.clock.advance_us(10'000'000);
  plan(yard, std::vector<std::string>(kWarming, "get absent\r\n"));
  yard.machine.run_until_idle();
  static_cast<void>(said(yard));
  const std::string usual =
      "VALUE k1001 0 " + std::to_string(value_of(1).size()) + "\r\n" + value_of(1) + "\r\nEND\r\n";
  std::vector<std::string> lines;
  std::string expected;
  for (std::size_t i = 0; i < 120; ++i) {
    const std::vector<std::pair<std::string, std::string>> asked_for{
        {"get large\r\n", "VALUE large 0 20000\r\n" + large + "\r\nEND\r\n"},
        {"mg flagged v\r\n", "VA 3\r\nabc\r\n"},
        {"get mortal\r\n", "END\r\n"}};
    const bool unusual = i % 40 > 36;
    lines.push_back(unusual ? asked_for[i % 40 - 37].first : "get k1001\r\n");
    expected += unusual ? asked_for[i % 40 - 37].second : usual;
  }
  plan(yard, lines);
  std::string before_tasks = said(yard);
  EXPECT_FALSE(before_tasks.empty());
  EXPECT_LT(before_tasks.size(), expected.size()) << "large values are left to tasks";
  yard.machine.run_until_idle();
  EXPECT_EQ(before_tasks + said(yard), expected);
  EXPECT_EQ(yard.clients[0].entries().front()->order.in_flight(), 0U);
}

}  // namespace
}  // namespace mxkv::simulation
