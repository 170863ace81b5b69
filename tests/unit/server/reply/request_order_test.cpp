// Which requests of one connection may overlap, and which may overtake which.
#include "server/reply/request_order.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace mxkv::server::test {
namespace {

using enum operation_kind;

class Fence : public testing::Test {
 protected:
  bool both(operation_kind first, operation_kind second, std::uint64_t second_key) {
    RequestOrder order{pool};
    EXPECT_TRUE(order.try_start({first, 1}));
    const bool overlapped = order.try_start({second, second_key});
    if (overlapped) {
      order.finish({second, second_key});
    }
    order.finish({first, 1});
    EXPECT_TRUE(order.try_start({second, second_key})) << "what ended conflicts with nothing";
    order.finish({second, second_key});
    return overlapped;
  }
  OrderTablePool pool;
};

TEST_F(Fence, RequestsOfOneKeyOverlapOnlyIfNeitherSeesTheOther) {
  EXPECT_TRUE(both(read, read, 1));
  EXPECT_FALSE(both(read, write, 1));
  EXPECT_FALSE(both(write, read, 1));
  EXPECT_TRUE(both(write, write, 1)) << "their order is that of their commits";
  for (const operation_kind kind : {read, write, exclusive}) {
    EXPECT_FALSE(both(exclusive, kind, 1));
    EXPECT_FALSE(both(kind, exclusive, 1));
  }
}

TEST_F(Fence, RequestsOfDifferentKeysOverlap) {
  for (const operation_kind first : {read, write, exclusive}) {
    for (const operation_kind second : {read, write, exclusive}) {
      EXPECT_TRUE(both(first, second, 2));
    }
  }
}

TEST_F(Fence, ARangeOverlapsWithReadsOnly) {
  EXPECT_TRUE(both(range, read, 2));
  EXPECT_TRUE(both(read, range, 2));
  EXPECT_TRUE(both(range, range, 2));
  EXPECT_FALSE(both(range, write, 2));
  EXPECT_FALSE(both(write, range, 2));
  EXPECT_FALSE(both(range, exclusive, 2));
  EXPECT_FALSE(both(exclusive, range, 2));
}

TEST_F(Fence, ABarrierOverlapsWithNothing) {
  for (const operation_kind kind : {read, write, exclusive, range, barrier}) {
    EXPECT_FALSE(both(barrier, kind, 2));
    EXPECT_FALSE(both(kind, barrier, 2));
  }
}

TEST_F(Fence, OnlyOperationsWithoutConflictOvertakeWaitingOnes) {
  RequestOrder order{pool};
  ASSERT_TRUE(order.try_start({read, 1}));
  ASSERT_FALSE(order.try_start({write, 1}));
  order.add_waiting({write, 1});
  EXPECT_FALSE(order.try_start({read, 1})) << "the write was sent before";
  EXPECT_TRUE(order.try_start({read, 2}));
  EXPECT_FALSE(order.try_start({write, 3})) << "writes keep their order";
  EXPECT_FALSE(order.try_start({range, 0})) << "the waiting write may be in the range";
  EXPECT_TRUE(order.finish({read, 1}));
  order.begin_pass();
  EXPECT_TRUE(order.try_start({write, 1}));
  EXPECT_TRUE(order.try_start({write, 3}));
  order.finish({write, 1});
  order.finish({write, 3});
  order.finish({read, 2});
  EXPECT_TRUE(order.try_start({range, 0}));
  order.finish({range, 0});
}

TEST_F(Fence, AWaitingReadHoldsBackALaterWriteOfItsKey) {
  RequestOrder order{pool};
  ASSERT_TRUE(order.try_start({write, 1}));
  ASSERT_FALSE(order.try_start({read, 1}));
  order.add_waiting({read, 1});
  EXPECT_FALSE(order.try_start({write, 1}));
  EXPECT_TRUE(order.try_start({write, 2}));
  order.finish({write, 1});
  order.finish({write, 2});
}

TEST_F(Fence, MoreRequestsOfOneKeyThanACounterHoldsWait) {
  RequestOrder order{pool};
  std::size_t started = 0;
  while (order.try_start({read, 5})) {
    ++started;
  }
  EXPECT_EQ(started, OrderTable::kMost);
  EXPECT_TRUE(order.finish({read, 5}));
  EXPECT_TRUE(order.try_start({read, 5}));
  for (std::size_t i = 0; i < started; ++i) {
    order.finish({read, 5});
  }
  EXPECT_TRUE(order.try_start({write, 5}));
  order.finish({write, 5});
}

TEST_F(Fence, KeysOfALongStretchAreNotNoted) {
  for (const operation_kind kind : {read, write}) {
    const operation_kind other = kind == read ? write : read;
    RequestOrder order{pool};
    for (std::uint32_t i = 0; i <= RequestOrder::kStreak; ++i) {
      EXPECT_FALSE(order.keys_untracked(kind)) << "after " << i;
      ASSERT_TRUE(order.try_start({kind, i}));
      order.finish({kind, i});
    }
    ASSERT_TRUE(order.keys_untracked(kind));
    EXPECT_FALSE(order.keys_untracked(other));
    EXPECT_FALSE(order.keys_untracked(exclusive));
    std::vector<OrderClaim> untracked;
    for (std::size_t i = 0; i < 2 * OrderTable::kMost; ++i) {
      untracked.push_back(order.start_untracked(kind));
      EXPECT_FALSE(untracked.back().tracked());
      EXPECT_EQ(OrderClaim{untracked.back().stored()}.kind(), kind);
    }
    EXPECT_FALSE(order.try_start({other, 1})) << "any of them may be of its key";
    EXPECT_FALSE(order.keys_untracked(kind)) << "now keys count";
    EXPECT_FALSE(order.try_start({exclusive, 1}));
    EXPECT_FALSE(order.try_start({barrier, 0}));
    EXPECT_EQ(order.try_start({range, 0}), kind == read);
    if (kind == read) {
      order.finish({range, 0});
    }
    ASSERT_TRUE(order.try_start({kind, 7})) << "does not mind its like";
    for (std::size_t i = 0; i < untracked.size(); ++i) {
      EXPECT_EQ(order.finish(untracked[i]), i + 1 == untracked.size());
    }
    EXPECT_FALSE(order.try_start({other, 7}));
    EXPECT_TRUE(order.try_start({other, 8}));
    order.finish({kind, 7});
    order.finish({other, 8});
  }
}

/// Random requests of phases that mostly read, mostly write or mix; the test knows which are in flight.
TEST_F(Fence, ConflictingOperationsNeverRunAtTheSameTime) {
  constexpr std::uint64_t kKeys = 20;
  struct Running {
    OrderClaim claim;
    operation_kind kind;
    std::uint64_t key;
  };
  const auto conflict = [](const Running& a, operation_kind kind, std::uint64_t key) {
    const auto changes = [](operation_kind k) { return k == write || k == exclusive; };
    if (a.kind == barrier || kind == barrier) {
      return true;
    }
    if (a.kind == range || kind == range) {
      return changes(a.kind) || changes(kind);
    }
    return a.key == key && a.kind != kind ? true : a.key == key && kind == exclusive;
  };
  std::mt19937_64 random{1};
  RequestOrder order{pool};
  std::vector<Running> running;
  std::size_t overlooked = 0;
  for (std::size_t step = 0; step < 200'000; ++step) {
    const std::size_t phase = step / 300 % 3;
    if (!running.empty() && (random() % 2 == 0 || running.size() > 40)) {
      const std::size_t which = random() % running.size();
      order.finish(running[which].claim);
      running[which] = running.back();
      running.pop_back();
      continue;
    }
    const std::uint64_t key = random() % kKeys;
    operation_kind kind = phase == 0 ? read : write;
    if (phase == 2 || random() % 200 == 0) {
      kind = static_cast<operation_kind>(random() % 5);
    }
    OrderClaim claim{kind, key};
    bool started = true;
    if (kind != barrier && order.keys_untracked(kind)) {
      claim = order.start_untracked(kind);
      ++overlooked;
    } else {
      started = order.try_start(claim);
    }
    if (started) {
      for (const Running& other : running) {
        ASSERT_FALSE(conflict(other, kind, key)) << "step " << step;
      }
      running.push_back({claim, kind, key});
    } else {
      ASSERT_FALSE(running.empty()) << "step " << step << ": nothing is in the way";
    }
  }
  EXPECT_GT(overlooked, 10'000U);
  for (const Running& left : running) {
    order.finish(left.claim);
  }
}

TEST(OrderClaim, SurvivesBeingStored) {
  for (const operation_kind kind : {read, write, exclusive, range, barrier}) {
    for (std::uint64_t key = 0; key < 2 * OrderTable::kSlots; ++key) {
      const OrderClaim claim{OrderClaim{kind, key}.stored()};
      EXPECT_EQ(claim.kind(), kind);
      EXPECT_EQ(claim.slot(), key % OrderTable::kSlots);
    }
  }
}

}  // namespace
}  // namespace mxkv::server::test
