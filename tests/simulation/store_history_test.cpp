// The explanation of histories of many keys: histories that it must explain, and histories that it must not.
#include "tests/simulation/store_history.hpp"

#include <gtest/gtest.h>

namespace mxkv::simulation {
namespace {

constexpr std::uint64_t kSecond = 1'000'000;

/// Two keys, with 10 and 20.
KeyStates two_keys() {
  KeyStates keys;
  keys[0] = {true, 0, 10, 0};
  keys[1] = {true, 0, 20, 0};
  return keys;
}

Operation during(Operation op, std::uint64_t invoked, std::uint64_t responded) {
  op.invoked = invoked;
  op.responded = responded;
  op.end = op.end == ending::unknown ? ending::done : op.end;
  op.from_us = invoked * kSecond;
  op.until_us = responded * kSecond;
  return op;
}

Operation cut_off(Operation op, std::uint64_t invoked) {
  op.invoked = invoked;
  op.from_us = invoked * kSecond;
  return op;
}

Operation line(const CommandLine& what) {
  Operation op;
  op.locked = what.what != act::get;
  op.lines.push_back(what);
  return op;
}
Operation get(std::uint8_t key, std::uint64_t number) {
  return line({.what = act::get, .key = key, .reply = told::done, .number = number});
}
Operation miss(std::uint8_t key) {
  return line({.what = act::get, .key = key, .reply = told::missing});
}
CommandLine set_line(std::uint8_t key, std::uint64_t number, std::uint64_t cas = 0) {
  return {.what = act::set, .key = key, .operand = number, .reply = told::done, .cas = cas};
}
Operation set(std::uint8_t key, std::uint64_t number, std::uint64_t cas = 0) {
  return line(set_line(key, number, cas));
}
Operation batch(const std::vector<CommandLine>& lines) {
  Operation op;
  op.what = operation::batch;
  op.lines = lines;
  return op;
}
/// A page over both keys.
Operation page(std::uint64_t first, std::uint64_t second, bool locked = true) {
  Operation op;
  op.what = operation::page;
  op.locked = locked;
  op.last = 2;
  op.seen = {{0, first, 0}, {1, second, 0}};
  return op;
}
Operation count(std::uint64_t numbers, std::uint64_t sum) {
  Operation op;
  op.what = operation::count;
  op.last = 2;
  op.numbers = numbers;
  op.sum = sum;
  return op;
}
Operation erase(std::uint64_t items, bool locked = true) {
  Operation op;
  op.what = operation::erase;
  op.locked = locked;
  op.last = 2;
  op.items = items;
  return op;
}
Operation touch(std::uint32_t expiry, std::uint64_t items) {
  Operation op;
  op.what = operation::touch;
  op.last = 2;
  op.expiry = expiry;
  op.items = items;
  return op;
}

bool explained(const std::vector<Operation>& operations, bool evicts = false) {
  StoreHistory history{two_keys(), evicts};
  for (const Operation& op : operations) {
    history.add(op);
  }
  const bool good = !history.contradiction();
  EXPECT_EQ(history.given_up(), 0U);
  return good;
}

TEST(StoreHistory, WhatWasWrittenIsFound) {
  EXPECT_TRUE(explained({during(set(0, 11), 1, 2), during(get(0, 11), 3, 4)}));
  EXPECT_FALSE(explained({during(set(0, 11), 1, 2), during(get(0, 10), 3, 4)}));
  EXPECT_TRUE(explained({during(set(0, 11), 1, 4), during(get(0, 10), 2, 3)}));
}

TEST(StoreHistory, ABatchIsOneMomentForWhatIsLocked) {
  const Operation both = batch({set_line(0, 11), set_line(1, 21)});
  EXPECT_TRUE(explained({during(both, 1, 4), during(page(10, 20), 2, 3)}));
  EXPECT_TRUE(explained({during(both, 1, 4), during(page(11, 21), 2, 3)}));
  EXPECT_FALSE(explained({during(both, 1, 4), during(page(11, 20), 2, 3)}));
  EXPECT_FALSE(explained({during(both, 1, 4), during(page(10, 21), 2, 3)}));
  EXPECT_FALSE(explained({during(both, 1, 4), during(count(2, 31), 2, 3)}));
  EXPECT_TRUE(explained({during(both, 1, 4), during(count(2, 32), 2, 3)}));
}

TEST(StoreHistory, UnlockedReadsMaySeePartOfABatch) {
  const Operation both = batch({set_line(0, 11), set_line(1, 21)});
  EXPECT_TRUE(explained({during(both, 1, 6), during(get(0, 11), 2, 3), during(get(1, 20), 4, 5)}));
  EXPECT_TRUE(explained({during(both, 1, 4), during(page(11, 20, false), 2, 3)}));
  EXPECT_FALSE(explained({during(both, 1, 4), during(page(12, 20, false), 2, 3)}));
  EXPECT_FALSE(explained({during(both, 1, 2), during(page(11, 20, false), 3, 4)}));
}

TEST(StoreHistory, WritesSeeNoPartOfABatch) {
  const Operation both = batch({set_line(0, 11), set_line(1, 21)});
  const auto up = [](std::uint8_t key, std::uint64_t number) {
    return line({.what = act::count_up, .key = key, .operand = 1, .reply = told::done, .number = number});
  };
  EXPECT_TRUE(explained({during(both, 1, 6), during(up(0, 11), 2, 3), during(up(1, 21), 4, 5)}));
  EXPECT_TRUE(explained({during(both, 1, 6), during(up(0, 12), 2, 3), during(up(1, 22), 4, 5)}));
  EXPECT_FALSE(explained({during(both, 1, 6), during(up(0, 12), 2, 3), during(up(1, 21), 4, 5)}));
}

TEST(StoreHistory, AFailedBatchDoesNothing) {
  Operation failed = batch({set_line(0, 11), {.what = act::add, .key = 1, .reply = told::not_stored}});
  failed.lines[0].reply = told::unknown;
  failed.end = ending::failed;
  failed.failed_line = 1;
  EXPECT_TRUE(explained({during(failed, 1, 2), during(page(10, 20), 3, 4)}));
  EXPECT_FALSE(explained({during(failed, 1, 2), during(page(11, 20), 3, 4)}));
  EXPECT_FALSE(explained({during(failed, 1, 2), during(get(0, 11), 3, 4)}));
  failed.lines[1].what = act::replace;  // of an item that is there
  EXPECT_FALSE(explained({during(failed, 1, 2)}));
}

TEST(StoreHistory, LinesOfABatchFindWhatTheLinesBeforeThemLeft) {
  const CommandLine up{.what = act::count_up, .key = 0, .operand = 5, .reply = told::done, .number = 16};
  EXPECT_TRUE(explained({during(batch({set_line(0, 11), up}), 1, 2), during(get(0, 16), 3, 4)}));
  EXPECT_FALSE(explained({during(batch({up, set_line(0, 11)}), 1, 2)}));
}

TEST(StoreHistory, WhoHasGoneMayHaveDoneItOrNot) {
  Operation both = batch({set_line(0, 11), set_line(1, 21)});
  both.lines[0].reply = both.lines[1].reply = told::unknown;
  EXPECT_TRUE(explained({cut_off(both, 1), during(page(10, 20), 2, 3), during(page(11, 21), 4, 5)}));
  EXPECT_TRUE(explained({cut_off(both, 1), during(page(10, 20), 2, 3)}));
  EXPECT_FALSE(explained({cut_off(both, 1), during(page(11, 20), 2, 3)}));
  EXPECT_FALSE(explained({cut_off(both, 1), during(page(11, 21), 2, 3), during(page(10, 20), 4, 5)}));
}

TEST(StoreHistory, ManyOfWhomNobodyKnowsWhatBecameTakeNoLongerThanFew) {
  std::vector<Operation> operations;
  for (std::uint64_t n = 0; n < 30; ++n) {
    CommandLine written = set_line(0, 100 + n);
    written.reply = told::unknown;
    operations.push_back(cut_off(line(written), 1));
    CommandLine swapped = set_line(0, 200 + n);
    swapped.reply = told::unknown;
    swapped.compare = 1'000 + n;
    swapped.expects = 100 + n;
    operations.push_back(cut_off(line(swapped), 1));
  }
  operations.push_back(during(get(0, 129), 2, 3));
  operations.push_back(during(get(0, 101), 4, 5));
  operations.push_back(during(get(0, 201), 6, 7));
  EXPECT_TRUE(explained(operations));
  operations.push_back(during(get(0, 202), 8, 9));  // the number that 102 was swapped for
  EXPECT_TRUE(explained(operations));
  operations.push_back(during(get(0, 102), 10, 11));
  EXPECT_FALSE(explained(operations));
}

TEST(StoreHistory, OfWhatNobodyWasToldSeveralKeysMayShow) {
  CommandLine one = set_line(0, 11);
  CommandLine other = set_line(1, 21);
  one.reply = other.reply = told::unknown;
  EXPECT_TRUE(explained({cut_off(line(one), 1), cut_off(line(other), 2), during(page(11, 21), 3, 4)}));
  EXPECT_FALSE(explained({cut_off(line(one), 1), cut_off(line(other), 2), during(page(11, 21), 3, 4),
                          during(page(10, 21), 5, 6)}));
}

TEST(StoreHistory, ARangeGoesAtOnceOrKeyByKey) {
  EXPECT_TRUE(explained({during(erase(2), 1, 2), during(miss(0), 3, 4)}));
  EXPECT_FALSE(explained({during(erase(1), 1, 2)}));
  EXPECT_FALSE(explained({during(erase(2), 1, 2), during(get(1, 20), 3, 4)}));
  Operation half = page(10, 0);
  half.seen.pop_back();
  EXPECT_FALSE(explained({during(erase(2), 1, 4), during(half, 2, 3)}));
  EXPECT_TRUE(explained({during(erase(2, false), 1, 4), during(half, 2, 3)}));
}

TEST(StoreHistory, APageOfARemovalMayLeaveKeysOut) {
  Operation some = erase(1, false);
  EXPECT_FALSE(explained({during(some, 1, 2), during(page(10, 20), 3, 4)}));
  some.partial = true;
  EXPECT_TRUE(explained({during(some, 1, 2), during(page(10, 20), 3, 4)}));
}

TEST(StoreHistory, ItemsExpireAtTheirTime) {
  CommandLine short_lived = set_line(0, 11);
  short_lived.expiry = 5;
  EXPECT_TRUE(explained({during(line(short_lived), 1, 2), during(get(0, 11), 3, 4)}));
  EXPECT_FALSE(explained({during(line(short_lived), 1, 2), during(miss(0), 3, 4)}));
  EXPECT_TRUE(explained({during(line(short_lived), 1, 2), during(miss(0), 4, 5)}));
  EXPECT_TRUE(explained({during(line(short_lived), 1, 2), during(get(0, 11), 4, 5)}));
  EXPECT_FALSE(explained({during(line(short_lived), 1, 2), during(get(0, 11), 5, 6)}));
  EXPECT_TRUE(explained({during(touch(5, 2), 1, 2), during(miss(0), 6, 7)}));
  EXPECT_FALSE(explained({during(touch(5, 2), 1, 2), during(get(1, 20), 6, 7)}));
  EXPECT_FALSE(explained({during(touch(5, 1), 1, 2)}));
}

TEST(StoreHistory, OnlyWhereItemsAreEvictedMayTheyVanish) {
  EXPECT_FALSE(explained({during(miss(0), 1, 2)}));
  EXPECT_TRUE(explained({during(miss(0), 1, 2)}, true));
  EXPECT_FALSE(explained({during(miss(0), 1, 2), during(get(0, 10), 3, 4)}, true));
}

TEST(StoreHistory, CasValuesTellVersionsApart) {
  const auto compared = [](std::uint64_t cas, told reply) {
    CommandLine set = set_line(0, 12);
    set.compare = cas;
    set.reply = reply;
    return line(set);
  };
  EXPECT_TRUE(explained({during(set(0, 11, 100), 1, 2), during(compared(100, told::done), 3, 4)}));
  EXPECT_TRUE(explained({during(set(0, 11, 100), 1, 2), during(compared(99, told::exists), 3, 4)}));
  EXPECT_FALSE(explained({during(set(0, 11, 100), 1, 2), during(compared(99, told::done), 3, 4)}));
  EXPECT_FALSE(explained({during(set(0, 11, 100), 1, 2), during(compared(100, told::exists), 3, 4)}));
  EXPECT_FALSE(explained({during(set(0, 11, 100), 1, 2), during(set(0, 12, 99), 3, 4)}))
      << "cas values of a key rise";
}

TEST(StoreHistory, ABatchThatEndsAsItBeganIsStillInTheWay) {
  const CommandLine remove{.what = act::remove, .key = 0, .reply = told::done};
  // The batch may have come after the set alone.
  EXPECT_TRUE(explained({during(erase(2), 1, 2), during(batch({set_line(0, 11), remove}), 3, 6),
                         during(set(0, 12), 4, 5), during(miss(0), 7, 8)}));
}

/// The operation as the n-th of a connection.
Operation nth(Operation op, std::uint64_t session, std::uint64_t n) {
  op.session = session;
  op.number = n;
  op.kind = only_reads(op) ? server::operation_kind::read : server::operation_kind::write;
  return op;
}

TEST(StoreHistory, APageOfARemovalThatLeftKeysOutGoesBeforeWhatFollowsIt) {
  Operation some = erase(0, false);
  some.partial = true;
  EXPECT_TRUE(explained(
      {during(nth(some, 1, 1), 1, 6), during(set(0, 11), 2, 4), during(nth(page(10, 20), 1, 2), 3, 7)}));
  EXPECT_FALSE(explained(
      {during(nth(some, 1, 1), 1, 6), during(set(0, 11), 2, 4), during(nth(page(10, 20), 1, 2), 5, 7)}));
}
Operation remove_of_missing(std::uint8_t key) {
  return line({.what = act::remove, .key = key, .reply = told::missing});
}

TEST(StoreHistory, WritesOfAConnectionTakeEffectInTheOrderSent) {
  const Operation first = during(line({.what = act::remove, .key = 0, .reply = told::done}), 1, 2);
  const Operation set_again = during(set(0, 11), 3, 10);
  const Operation removed = during(remove_of_missing(0), 4, 9);
  EXPECT_TRUE(explained({first, set_again, removed}));
  EXPECT_TRUE(explained({first, nth(set_again, 1, 1), nth(removed, 2, 1)}));
  EXPECT_FALSE(explained({first, nth(set_again, 1, 1), nth(removed, 1, 2)}));
  // Also of other keys: a reader of the second sees the first.
  const Operation second = during(set(1, 21), 4, 9);
  EXPECT_FALSE(
      explained({nth(during(set(0, 11), 3, 10), 1, 1), nth(second, 1, 2), during(page(10, 21), 5, 6)}));
  EXPECT_TRUE(explained({during(set(0, 11), 3, 10), second, during(page(10, 21), 5, 6)}));
}

TEST(StoreHistory, AReadOfAConnectionMindsItsWritesOfTheSameKeyAlone) {
  const Operation written = nth(during(set(0, 11), 1, 10), 1, 1);
  EXPECT_FALSE(explained({written, nth(during(get(0, 10), 2, 3), 1, 2)}));
  EXPECT_TRUE(explained({written, nth(during(get(1, 20), 2, 3), 1, 2), during(get(0, 10), 4, 5)}));
  EXPECT_FALSE(explained({nth(during(get(0, 11), 1, 10), 1, 1), nth(during(set(0, 11), 2, 9), 1, 2)}));
}

TEST(StoreHistory, WhatNobodyWasToldOfHasHappenedBeforeWhatFollowsIt) {
  Operation silent = nth(during(line({.what = act::remove, .key = 0}), 1, 10), 1, 1);
  silent.end = ending::unknown;
  EXPECT_FALSE(explained({silent, nth(during(get(0, 10), 2, 3), 1, 2)}));
  EXPECT_TRUE(explained({silent, nth(during(miss(0), 2, 3), 1, 2)}));
  silent.may_fail = true;
  EXPECT_TRUE(explained({silent, nth(during(get(0, 10), 2, 3), 1, 2)}));
}

}  // namespace
}  // namespace mxkv::simulation
