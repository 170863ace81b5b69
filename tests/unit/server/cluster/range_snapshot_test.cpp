// A new replica: the items copied while others wrote, and the records since then, add up to the store's items.
#include "server/cluster/range_snapshot.hpp"

#include <gtest/gtest.h>

#include "server/cluster/store_items.hpp"
#include "tests/sanitized.hpp"
#include "tests/unit/server/cluster/fed_store.hpp"
#include "tests/unit/server/cluster/some_change.hpp"

namespace mxkv::server::testing {
namespace {

ItemsSeen within(const ItemsSeen& items, const std::string& from, const std::string& to) {
  ItemsSeen kept;
  for (const auto& [key, item] : items) {
    if (key >= from && (to.empty() || key < to)) {
      kept.emplace(key, item);
    }
  }
  return recorded_of(kept);
}

TEST(RangeSnapshot, WithTheRecordsSinceThenItEqualsTheStore) {
  std::size_t with_chunks = 0;
  for (std::uint64_t seed = 1; seed <= (kSanitized ? 8U : 30U); ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    runtime::Random random{seed};
    FedStore owner{1 + seed % 3, seed};
    const std::string from = seed % 2 == 0 ? "" : "b";
    const std::string to = seed % 3 == 0 ? "" : "b3";
    for (int i = 0; i < 200; ++i) {
      owner.store.ask(some_change(random));
      if (i % 4 == 0) {  // more than one buffer
        owner.store.ask("set b!" + std::to_string(1000 + random.below(100)) + " 0 0 7000\r\n" +
                        std::string(7000, 'f') + "\r\n");
      }
    }
    (void)owner.take_group();  // the log is cut off here
    RangeSnapshot snapshot{owner.store.store, from, to};
    snapshot.start();
    std::vector<std::string> bodies;
    std::vector<std::string> groups;
    std::string body;
    for (bool ended = false; !ended;) {
      owner.store.ask(some_change(random));
      if (random.below(3) == 0) {
        groups.push_back(owner.take_group());
      }
      if (random.below(4) == 0) {
        switch (snapshot.poll(body)) {
          case RangeSnapshot::state::chunk:
            bodies.push_back(body);
            break;
          case RangeSnapshot::state::end:
            ended = true;
            break;
          case RangeSnapshot::state::working:
            break;
          case RangeSnapshot::state::failed:
            FAIL();
        }
      }
    }
    groups.push_back(owner.take_group());
    FedStore replica{1 + seed % 4, seed};
    for (const std::string& chunk : bodies) {
      replica.memory.apply(0, chunk);
    }
    for (const std::string& group : groups) {
      replica.memory.apply(0, group);
    }
    replica.settle();
    EXPECT_EQ(within(replica.store.items(), from, to), within(owner.store.items(), from, to));
    with_chunks += bodies.size() > 1 ? 1U : 0U;
    EXPECT_GT(snapshot.items(), 0U);
  }
  EXPECT_GT(with_chunks, 5U) << "of most there is more than one";
}

TEST(RangeSnapshot, WhoDoesNotPollHoldsItUp) {
  FedStore owner{2};
  for (int i = 0; i < 200; ++i) {
    owner.store.ask("set k" + std::to_string(100 + i) + " 0 0 8000\r\n" + std::string(8000, 'v') + "\r\n");
  }
  RangeSnapshot snapshot{owner.store.store, "", ""};
  snapshot.start();
  std::string body;
  EXPECT_EQ(snapshot.poll(body), RangeSnapshot::state::working);
  std::size_t chunks = 0;
  for (;;) {
    owner.store.run_until_idle();
    const std::uint64_t before = snapshot.items();
    const auto now = snapshot.poll(body);
    if (now == RangeSnapshot::state::end) {
      break;
    }
    ASSERT_EQ(now, RangeSnapshot::state::chunk);
    EXPECT_LE(body.size(), CheckpointBuffer::kBytes + 8 * (snapshot.items() - before));
    ++chunks;
  }
  EXPECT_EQ(snapshot.items(), 200U);
  EXPECT_EQ(chunks, 7U);
  EXPECT_EQ(snapshot.poll(body), RangeSnapshot::state::end);
}

TEST(RangeSnapshot, MayBeStoppedAtAnyTime) {
  FedStore owner{2};
  for (int i = 0; i < 20; ++i) {
    owner.store.ask("set k" + std::to_string(100 + i) + " 0 0 500000\r\n" + std::string(500'000, 'v') +
                    "\r\n");
  }
  for (int polls = 0; polls < 3; ++polls) {
    RangeSnapshot snapshot{owner.store.store, "", ""};
    EXPECT_TRUE(snapshot.stop());
    RangeSnapshot other{owner.store.store, "", ""};
    other.start();
    std::string body;
    for (int i = 0; i < polls; ++i) {
      owner.store.run_until_idle();
      EXPECT_EQ(other.poll(body), RangeSnapshot::state::chunk);
    }
    EXPECT_FALSE(other.stop());
    owner.store.run_until_idle();
    while (!other.stop()) {
      owner.store.run_until_idle();
    }
  }
}

TEST(StoreItems, AnUnfinishedScansItemsAreFreedWithItsTasks) {
  for (int polls = 0; polls < 3; ++polls) {
    EndingScans ending;
    FedStore owner{2};
    for (int i = 0; i < 20; ++i) {
      owner.store.ask("set k" + std::to_string(100 + i) + " 0 0 500000\r\n" + std::string(500'000, 'v') +
                      "\r\n");
    }
    {
      StoreItems under_way{owner.store.store, "", "", ending};
      StoreItems filled{owner.store.store, "", "", ending};
      std::string piece;
      std::uint64_t items = 0;
      for (int i = 0; i < polls; ++i) {
        owner.store.run_until_idle();
        EXPECT_EQ(under_way.next(piece, items), SnapshotSource::state::piece);
      }
    }
    ending.drop(owner.store.machine[0]);
    owner.store.store.discard_waiting(owner.store.machine.runtime);
    owner.store.machine.runtime.drain_stopped();
  }
}

}  // namespace
}  // namespace mxkv::server::testing
