// Reads of a pipeline that other workers may take: which workers run them, that no client can tell, and their
// end when clients leave or the world ends.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/simulation/store_yard.hpp"

namespace mxkv::simulation {
namespace {

constexpr std::size_t kItems = 60;
constexpr std::size_t kWarming = server::RequestOrder::kStreak + 1;  // then keys are not noted any more

server::StoreOptions offering(std::uint32_t row, server::read_offering mode = server::read_offering::always) {
  server::StoreOptions options = one_bucket();
  options.tree.limits = {.leaf = 4, .inner = 4};
  options.offers = {.mode = mode, .kept = 1, .least = 2, .row = row};
  return options;
}

/// Workers that take turns after a few tasks each.
runtime::RuntimeOptions in_turns() {
  runtime::RuntimeOptions options = runtime::testing::unpinned(2);
  options.batch_tasks = 3;
  options.order_reach = runtime::stealing_scope::machine;
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

/// A get of one key, or mg; every seventh is a miss.
std::pair<std::string, std::string> read_of(std::size_t i) {
  const std::size_t n = i * 37 % kItems;
  const std::string key = i % 7 == 3 ? "absent" : key_of(n);
  const std::string value = value_of(n);
  const std::string size = std::to_string(value.size());
  if (i % 3 == 1) {
    return {"mg " + key + " v\r\n", i % 7 == 3 ? "EN\r\n" : "VA " + size + "\r\n" + value + "\r\n"};
  }
  return {"get " + key + "\r\n",
          i % 7 == 3 ? "END\r\n" : "VALUE " + key + " 0 " + size + "\r\n" + value + "\r\nEND\r\n"};
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

std::string plan_reads(Yard& yard, std::size_t reads) {
  std::string expected;
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < reads; ++i) {
    auto [line, reply] = read_of(i);
    lines.push_back(std::move(line));
    expected += reply;
  }
  plan(yard, lines);
  return expected;
}

std::uint64_t count(Yard& yard, std::size_t worker, server::counter which) {
  return yard.store.context(yard.machine[worker].id()).counters.value(which);
}

TEST(StoreOffers, BothWorkersReadAndAnswersAreInOrder) {
  for (const std::uint32_t row : {2U, 4U, 32U}) {
    Yard yard{offering(row), in_turns()};
    fill_leaves(yard);
    const std::string expected = plan_reads(yard, 400);
    yard.machine.run_until_idle();
    EXPECT_EQ(said(yard), expected) << row;
    EXPECT_EQ(count(yard, 1, server::counter::offered_reads), 0U);
    EXPECT_GT(count(yard, 0, server::counter::offered_reads), 30U) << row;
    EXPECT_GT(count(yard, 1, server::counter::taken_reads), 0U) << row;
    EXPECT_EQ(count(yard, 0, server::counter::taken_reads), 0U) << "its own are not taken of others";
    EXPECT_EQ(yard.store.total(server::counter::get_hits) + yard.store.total(server::counter::get_misses),
              400U);
    EXPECT_GT(count(yard, 1, server::counter::get_hits), 0U);
    EXPECT_EQ(yard.clients[0].entries().front()->order.in_flight(), 0U);
  }
}

TEST(StoreOffers, NothingIsOfferedWithoutTheSwitchOrAnother) {
  Yard off{offering(4, server::read_offering::off), in_turns()};
  fill_leaves(off);
  const std::string expected = plan_reads(off, 100);
  off.machine.run_until_idle();
  EXPECT_EQ(said(off), expected);
  EXPECT_EQ(off.store.total(server::counter::offered_reads), 0U);

  Yard busy{offering(4, server::read_offering::idle), in_turns()};  // no worker parks here
  fill_leaves(busy);
  const std::string same = plan_reads(busy, 100);
  busy.machine.run_until_idle();
  EXPECT_EQ(said(busy), same);
  EXPECT_EQ(busy.store.total(server::counter::offered_reads), 0U);
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

TEST(StoreOffers, WhatIsParkedIsOfferedTo) {
  Yard yard{offering(4, server::read_offering::idle), in_turns()};
  fill_leaves(yard);
  ASSERT_TRUE(yard.machine[1].prepare_to_park());
  const std::string expected = plan_reads(yard, 200);
  EXPECT_FALSE(yard.machine[1].parked()) << "it was woken";
  yard.machine.run_until_idle();
  EXPECT_EQ(said(yard), expected);
  EXPECT_GT(count(yard, 1, server::counter::taken_reads), 0U);
}

TEST(StoreOffers, WhatIsNotUsualIsReadAtHome) {
  Yard yard{offering(8), in_turns()};
  fill_leaves(yard);
  const std::string large(20'000, 'l');
  ASSERT_EQ(asked(yard, "set large 0 0 20000\r\n" + large + "\r\n"), "STORED\r\n");
  ASSERT_EQ(asked(yard, "set flagged 77 0 3\r\nabc\r\n"), "STORED\r\n");
  ASSERT_EQ(asked(yard, "set mortal 0 5 1\r\n1\r\n"), "STORED\r\n");
  ASSERT_EQ(asked(yard, "set stale 0 0 1\r\n1\r\n"), "STORED\r\n");
  ASSERT_EQ(asked(yard, "md stale I\r\n"), "HD\r\n");
  yard.machine.clock.advance_us(10'000'000);
  std::vector<std::string> lines(kWarming, "get absent\r\n");
  std::string expected;
  for (std::size_t i = 0; i < kWarming; ++i) {
    expected += "END\r\n";
  }
  const std::vector<std::pair<std::string, std::string>> asked_for{
      {"get large\r\n", "VALUE large 0 20000\r\n" + large + "\r\nEND\r\n"},
      {"get flagged\r\n", "VALUE flagged 77 3\r\nabc\r\nEND\r\n"},
      {"mg flagged v\r\n", "VA 3\r\nabc\r\n"},
      {"get mortal\r\n", "END\r\n"},
      {"mg mortal v\r\n", "EN\r\n"},
      {"get k1001\r\n",
       "VALUE k1001 0 " + std::to_string(value_of(1).size()) + "\r\n" + value_of(1) + "\r\nEND\r\n"}};
  for (std::size_t i = 0; i < 60; ++i) {
    const auto& [line, reply] = asked_for[i % asked_for.size()];
    lines.push_back(line);
    expected += reply;
  }
  plan(yard, lines);
  yard.machine.run_until_idle();
  EXPECT_EQ(said(yard), expected);
  EXPECT_GT(count(yard, 0, server::counter::offered_reads), 0U);
  EXPECT_EQ(yard.store.total(server::counter::get_hits), 40U) << "each is counted once";
  EXPECT_EQ(yard.store.total(server::counter::get_misses), kWarming + 20U);
}

TEST(StoreOffers, AWriteWaitsForReadsThatAreAway) {
  Yard yard{offering(4), in_turns()};
  fill_leaves(yard);
  std::vector<std::string> lines(kWarming + 40, "get k1002\r\n");
  lines.emplace_back("set k1002 0 0 3\r\nnew\r\n");
  lines.emplace_back("get k1002\r\n");
  const std::string old =
      "VALUE k1002 0 " + std::to_string(value_of(2).size()) + "\r\n" + value_of(2) + "\r\nEND\r\n";
  std::string expected;
  for (std::size_t i = 0; i < kWarming + 40; ++i) {
    expected += old;
  }
  expected += "STORED\r\nVALUE k1002 0 3\r\nnew\r\nEND\r\n";
  plan(yard, lines);
  for (int turns = 0; turns < 20; ++turns) {
    yard.machine.run_until_idle();
    yard.clients[0].go_on();
    static_cast<void>(yard.clients[0].send_planned(~std::size_t{0}));
  }
  EXPECT_EQ(said(yard), expected);
  EXPECT_GT(count(yard, 1, server::counter::taken_reads), 0U);
}

TEST(StoreOffers, AClientThatLeavesAtAnyStepLeavesNothingBehind) {
  Yard yard{offering(4), in_turns()};
  fill_leaves(yard);
  for (int steps = 0; steps < 80; steps += 1 + steps / 8) {
    static_cast<void>(plan_reads(yard, 120));
    for (int n = 0; n < steps; ++n) {
      yard.machine[static_cast<std::size_t>(n % 2)].step();
    }
    yard.clients[0].reconnect();
    yard.run();
    EXPECT_EQ(yard.replies[0].directory.entries(), 1U) << steps;
  }
  EXPECT_GT(count(yard, 1, server::counter::taken_reads), 0U);
}

TEST(StoreOffers, AllMayEndAtAnyStep) {
  for (int steps = 0; steps < 60; steps += 1 + steps / 8) {
    Yard yard{offering(4), in_turns()};
    fill_leaves(yard);
    static_cast<void>(plan_reads(yard, 120));
    for (int n = 0; n < steps; ++n) {
      yard.machine[static_cast<std::size_t>(n % 2)].step();
    }
    yard.clients[0].reconnect();
    yard.store.discard_waiting(yard.machine.runtime);
    yard.machine.runtime.drain_stopped();
    EXPECT_EQ(yard.replies[0].pool.share().held(), 0U) << "a block is lost after " << steps;
  }
}

}  // namespace
}  // namespace mxkv::simulation
