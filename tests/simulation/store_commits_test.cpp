// The ways in which a store can change, one by one: each passes the tree's commit point as the right kind of
// change.
#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

#include "server/store/core/store_state.hpp"
#include "server/store/upkeep/background_writes.hpp"
#include "server/store/upkeep/leaf_evictions.hpp"
#include "tests/simulation/store_ledger.hpp"
#include "tests/simulation/store_yard.hpp"

namespace mxkv::simulation {
namespace {

using index::change;

struct Request {
  std::string text;
  reply_shape shape = reply_shape::line;
};

/// A way to change a store: the items before it, the request, and the changes that must pass.
struct Way {
  const char* name;
  std::vector<Request> before;
  Request sent;
  std::vector<change> passes;
  std::uint64_t groups = 0;
};

std::ostream& operator<<(std::ostream& out, const Way& way) {
  return out << way.name;
}

Request set(const std::string& key, const std::string& exptime = "0") {
  return {"set " + key + " 5 " + exptime + " 1\r\n1\r\n"};
}

std::vector<Way> all_ways() {
  using enum change;
  constexpr auto kValue = reply_shape::classic_value;
  constexpr auto kBatch = reply_shape::batch;
  return {
      {"Set", {}, set("k"), {put}},
      {"SetAgain", {set("k")}, set("k"), {put}},
      {"SetWithExptime", {}, set("k", "100"), {put}},
      {"SetOverATouchedOne", {set("k", "100"), {"touch k 200\r\n"}}, set("k"), {put}},
      {"Add", {}, {"add k 0 0 1\r\n1\r\n"}, {put}},
      {"AddAfterDelete", {set("k"), {"delete k\r\n"}}, {"add k 0 0 1\r\n1\r\n"}, {put}},
      {"Replace", {set("k")}, {"replace k 0 0 1\r\n2\r\n"}, {put}},
      {"Append", {set("k")}, {"append k 0 0 1\r\n2\r\n"}, {put}},
      {"Prepend", {set("k")}, {"prepend k 0 0 1\r\n2\r\n"}, {put}},
      {"Incr", {set("k")}, {"incr k 1\r\n"}, {put}},
      {"Decr", {set("k")}, {"decr k 1\r\n"}, {put}},
      {"Delete", {set("k")}, {"delete k\r\n"}, {gone}},
      {"TouchByACopy", {set("k")}, {"touch k 100\r\n"}, {touched}},
      {"TouchInPlace", {set("k", "100")}, {"touch k 200\r\n"}, {touched}},
      {"Gat", {set("k", "100")}, {"gat 200 k\r\n", kValue}, {touched}},
      {"Gats", {set("k")}, {"gats 200 k\r\n", kValue}, {touched}},
      {"MetaSet", {}, {"ms k 1\r\n1\r\n"}, {put}},
      {"MetaAppend", {set("k")}, {"ms k 1 MA\r\n2\r\n"}, {put}},
      {"MetaArithmetic", {set("k")}, {"ma k\r\n"}, {put}},
      {"MetaArithmeticThatMakes", {}, {"ma k N0 J5\r\n"}, {put}},
      {"MetaDelete", {set("k")}, {"md k\r\n"}, {gone}},
      {"MetaDeleteThatMarks", {set("k")}, {"md k I\r\n"}, {put}},
      {"MetaTouch", {set("k", "100")}, {"mg k T200\r\n"}, {touched}},
      {"MetaGetThatMakes", {}, {"mg k N100\r\n"}, {put}},
      {"MetaGetThatWins", {set("k", "5")}, {"mg k R100\r\n"}, {unseen}},
      {"MetaTouchThatWins", {set("k", "5")}, {"mg k T7 R100\r\n"}, {touched}},
      {"Batch",
       {set("k")},
       {"mb 2\r\nms k 1\r\n2\r\nms l 1\r\n3\r\n", kBatch},
       {unseen, put, put, part, part},
       1},
      {"BatchThatTouches", {set("k", "100")}, {"mb 1\r\nmg k T200\r\n", kBatch}, {touched, part}, 1},
      {"BatchThatTouchesByACopy", {set("k")}, {"mb 1\r\nmg k T200\r\n", kBatch}, {touched, part}, 1},
      {"BatchThatWins", {set("k", "5")}, {"mb 1\r\nmg k R100\r\n", kBatch}, {unseen}},
      {"BatchThatReads", {set("k")}, {"mb 1\r\nmg k v\r\n", kBatch}, {}},
      {"BatchThatDeletes", {set("k")}, {"mb 1\r\nmd k\r\n", kBatch}, {gone, part}, 1},
      {"BatchThatMakesAndRemoves", {}, {"mb 2\r\nms k 1\r\n2\r\nmd k\r\n", kBatch}, {unseen, gone, part}, 1},
      {"BatchThatFails", {set("l")}, {"mb 2\r\nms k 1\r\n2\r\nms l 1 ME\r\n2\r\n", kBatch}, {unseen, unseen}},
      {"RangeDelete", {set("k1"), set("k2")}, {"mx k p\r\n"}, {gone, gone}},
      {"RangeDeleteOfAll", {set("k1"), set("k2")}, {"mx k p X\r\n"}, {range_gone, part, part}},
      {"RangeTouch", {set("k1", "100"), set("k2")}, {"mt k p T200\r\n"}, {unseen, range_touched, part, part}},
      {"Flush", {set("k")}, {"flush_all\r\n"}, {flushed}},
      {"FlushLater", {set("k")}, {"flush_all 100\r\n"}, {flushed}},
      {"FlushInPlaceOfALaterOne", {set("k"), {"flush_all 100\r\n"}}, {"flush_all\r\n"}, {flushed, flushed}},
      {"NoChange", {set("k")}, {"add k 0 0 1\r\n1\r\n"}, {}},
  };
}

/// A store with a ledger that listens from the beginning.
struct Listened {
  Listened() { yard.run(); }
  void ask(const Request& request) {
    yard.ask(0, request.text, request.shape);
    yard.run();
    ASSERT_EQ(yard.clients[0].in_flight(), 0U) << request.text;
  }
  void pass_s(std::uint64_t seconds) {
    yard.machine.clock.advance_us(seconds * 1'000'000);
    yard.run();
  }
  [[nodiscard]] std::vector<std::string> complaints() {
    Complaints found;
    ledger.check(yard.machine.clock.steady_us(yard.machine.clock.monotonic_ns()), found);
    return found.all();
  }

  Yard yard;
  StoreLedger ledger{yard.store};
};

class WayToChange : public ::testing::TestWithParam<Way> {};

TEST_P(WayToChange, PassesTheCommitPoint) {
  Listened store;
  for (const Request& request : GetParam().before) {
    store.ask(request);
  }
  PassedChanges expected = store.ledger.changes();
  for (const change what : GetParam().passes) {
    ++expected.by_kind[static_cast<std::size_t>(what)];
  }
  store.ask(GetParam().sent);
  EXPECT_EQ(store.ledger.changes().by_kind, expected.by_kind);
  EXPECT_EQ(store.ledger.changes().groups, expected.groups + GetParam().groups);
  EXPECT_EQ(store.complaints(), std::vector<std::string>{});
}

// The same again, after each of them: the order minted for it is below all later ones.
TEST_P(WayToChange, IsFollowedByGreaterOrders) {
  Listened store;
  for (const Request& request : GetParam().before) {
    store.ask(request);
  }
  store.ask(GetParam().sent);
  for (const char* key : {"k", "k1", "l"}) {
    store.ask(set(key, "100"));
    store.ask({std::string{"touch "} + key + " 300\r\n"});
    store.ask({std::string{"delete "} + key + "\r\n"});
    store.ask(set(key));
  }
  EXPECT_EQ(store.complaints(), std::vector<std::string>{});
}

INSTANTIATE_TEST_SUITE_P(Store, WayToChange, ::testing::ValuesIn(all_ways()),
                         [](const auto& way) { return std::string{way.param.name}; });

// The client got the cas of an item that never came to be in the tree.
TEST(StoreCommits, CasValuesDoNotRepeatAfterABatchThatMakesAndRemovesAKey) {
  Listened store;
  store.ask({"mb 2\r\nms k 1\r\n2\r\nmd k\r\n", reply_shape::batch});
  const std::uint64_t told = store.yard.store.context(store.yard.machine[0].id()).store->greatest_order(0);
  store.ask(set("k"));
  EXPECT_GT(server::ItemRecord::item(store.ledger.word_of("k"))->order(), told);
}

// Each claims an order of its own, also where nothing was written since the last one.
TEST(StoreCommits, OperationsOnRangesFollowWhatTheyActOnAndEachOther) {
  Listened store;
  store.ask(set("k1", "100"));
  store.ask({"mt k p T200\r\n"});
  store.ask({"mt k p T300\r\n"});
  store.ask({"mx k p X\r\n"});
  store.ask({"mx l p X\r\n"});
  store.ask({"flush_all\r\n"});
  store.ask({"flush_all 100\r\n"});
  store.ask({"flush_all 200\r\n"});
  EXPECT_EQ(store.ledger.changes()[change::range_touched], 2U);
  EXPECT_EQ(store.ledger.changes()[change::range_gone], 2U);
  EXPECT_EQ(store.ledger.changes()[change::flushed], 3U);
  EXPECT_EQ(store.complaints(), std::vector<std::string>{});
}

TEST(StoreCommits, ADelayedFlushTellsItsMomentAndWhenItWasSet) {
  Listened store;
  store.ask(set("k"));
  store.ask({"flush_all 100\r\n"});
  store.pass_s(50);
  store.ask(set("l"));
  store.ask({"flush_all 100\r\n"});  // the first one does not count any more
  EXPECT_EQ(store.complaints(), std::vector<std::string>{});
  store.pass_s(60);
  EXPECT_EQ(store.complaints(), std::vector<std::string>{});
  store.pass_s(60);
  EXPECT_EQ(store.complaints(), std::vector<std::string>{});
  EXPECT_EQ(store.ledger.changes().delayed_flushes, 2U);
}

TEST(StoreCommits, OrdersAreMintedAboveTheClockThatIsSet) {
  Listened store;
  runtime::Worker& worker = store.yard.machine[0];
  const std::uint64_t ahead = worker.now_us() + 5'000'000;
  store.yard.store.context(worker.id()).mint_us = ahead;
  store.ask(set("k"));
  EXPECT_GT(server::ItemRecord::item(store.ledger.word_of("k"))->order(), ahead);
}

TEST(StoreCommits, WhatTheStoreDoesByItselfPassesToo) {
  Listened store;
  runtime::Worker& worker = store.yard.machine[0];
  store.ask(set("evicted"));
  store.ask(set("expires", "5"));
  store.ask(set("moved"));
  auto* leaf = static_cast<server::ItemNode*>(store.yard.store.tree().root().object());
  while (!leaf->leaf()) {
    leaf = index::detail::node_of<server::ItemNode>(leaf->value(false, index::Position{}));
  }
  server::LeafEvictions removals;
  removals.add(store.ledger.word_of("evicted"));
  removals.start(*leaf, nullptr, worker);
  server::start_move(worker, store.ledger.word_of("moved"));
  store.yard.run();
  EXPECT_EQ(store.ledger.changes().evicted, 1U);
  EXPECT_EQ(store.ledger.changes()[change::unseen], 1U);
  store.pass_s(6);
  server::start_expiry(worker, store.ledger.word_of("expires"));
  store.yard.run();
  EXPECT_EQ(store.ledger.changes().expired, 1U);
  EXPECT_EQ(store.complaints(), std::vector<std::string>{});
}

TEST(StoreCommits, ASweepPassesWhatItRemoves) {
  Listened store;
  store.ask(set("a", "5"));
  store.ask(set("b", "5"));
  store.pass_s(700);
  store.yard.store.maintain(store.yard.machine[0]);
  store.yard.run();
  EXPECT_EQ(store.ledger.changes().expired, 2U);
  EXPECT_EQ(store.complaints(), std::vector<std::string>{});
}

TEST(StoreCommits, AWriteOverAnExpiredItemPassesAsWhatItIs) {
  Listened store;
  store.ask(set("k", "5"));
  store.pass_s(6);
  store.ask({"delete k\r\n"});
  EXPECT_EQ(store.ledger.changes().expired, 1U);
  EXPECT_EQ(store.ledger.changes().deleted, 0U);
  store.ask(set("k"));
  EXPECT_EQ(store.complaints(), std::vector<std::string>{});
}

}  // namespace
}  // namespace mxkv::simulation
