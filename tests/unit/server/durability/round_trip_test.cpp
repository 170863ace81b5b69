// A store made from another store's checkpoint and journal has the same contents.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "index/checker.hpp"
#include "tests/sanitized.hpp"
#include "tests/unit/server/durability/kept_disk.hpp"
#include "tests/unit/server/durability/recorded_store.hpp"

namespace mxkv::server::testing {
namespace {

constexpr std::uint64_t kBegin = 1'700'000'000'000'000;

class RoundTrip : public ::testing::Test {
 public:
  void clear() { disk_ = std::make_unique<KeptDisk>(); }

  static std::vector<std::string> some_keys() {
    std::vector<std::string> keys;
    for (int i = 0; i < 60; ++i) {
      keys.push_back("key:" + std::to_string(100 + i));
    }
    return keys;
  }

  /// One random command.
  static std::string some_command(const std::vector<std::string>& keys, runtime::Random& random) {
    const std::string& key = keys[random.below(keys.size())];
    const auto exptime = [&] { return std::to_string(random.below(3) == 0 ? 1 + random.below(20) : 0); };
    const auto value = [&] {
      const std::size_t bytes = random.below(12) == 0 ? 9000 + random.below(60'000) : random.below(300);
      return std::to_string(bytes) + "\r\n" + std::string(bytes, static_cast<char>('a' + random.below(26)));
    };
    switch (random.below(16)) {
      case 0:
        return "delete " + key + "\r\n";
      case 1:
        return "touch " + key + " " + exptime() + "\r\n";
      case 2:
        return "gat " + exptime() + " " + key + "\r\n";
      case 3:
        return "get " + key + "\r\n";
      case 4:
        return "append " + key + " 0 0 3\r\nxyz\r\n";
      case 5:
        return "md " + key + " I\r\n";
      case 6:
        return "ms " + key + " 2 E" + std::to_string(1 + random.below(1000)) + "\r\nab\r\n";
      case 7:
        return "mx " + key.substr(0, 6) + " p\r\n";
      case 8:
        return "mx " + key.substr(0, 6) + " p X\r\n";
      case 9:
        return "mt " + key.substr(0, 6) + " p T" + exptime() + "\r\n";
      case 10:
        return "mb 2\r\nms " + key + " 1\r\n1\r\nms " + keys[random.below(keys.size())] + " 1\r\n2\r\n";
      case 11:
        return random.below(12) != 0  ? "incr " + key + " 1\r\n"
               : random.below(2) == 0 ? "flush_all\r\n"
                                      : "flush_all 5\r\n";
      default:
        return "set " + key + " " + std::to_string(random.below(9)) + " " + exptime() + " " + value() +
               "\r\n";
    }
  }

  static std::uint64_t now_us(const RecordedStore& recorded) {
    return recorded.store.machine.clock.steady_us();
  }
  /// The state of items that outlives an orderly shutdown: a win may be won again.
  static ItemsSeen recorded_of(ItemsSeen items) {
    for (auto& [key, item] : items) {
      item.marks &= ~std::uint32_t{Item::kWon};
    }
    return items;
  }
  /// The state that outlives a kill: reads since the last checkpoint are not recorded.
  static ItemsSeen killed_of(ItemsSeen items) {
    for (auto& [key, item] : items) {
      item.access = 0;
    }
    return recorded_of(std::move(items));
  }

  std::unique_ptr<KeptDisk> disk_;
};

TEST_F(RoundTrip, ACheckpointHoldsAllThatIsKnownOfItems) {
  for (const bool compress : {false, true}) {
    clear();
    ItemsSeen items;
    std::uint64_t then_us = 0;
    {
      RecordedStore recorded{*disk_, kBegin, 2, {.rate_bytes = 0, .compress = compress, .parts = 3}};
      TextStore& store = recorded.store;
      runtime::Random random{5};
      for (int i = 0; i < 900; ++i) {
        store.ask("set many:" + std::to_string(random.below(3000)) + " " + std::to_string(random.below(3)) +
                  " " + std::to_string(random.below(2) * 1000) + " 5\r\nhello\r\n");
      }
      store.ask("set large 1 0 100000\r\n" + std::string(100'000, 'L') + "\r\n");
      store.ask("ms binary 2 b E77\r\nab\r\n");
      store.ask("ms stale 2 F5 T2000\r\nab\r\n");
      store.ask("md stale I T2000\r\n");
      store.machine.clock.advance_us(700'000'000);
      store.ask("get many:" + std::to_string(random.below(3000)) + " large stale\r\n");
      store.ask("set dies 0 1 1\r\n1\r\n");
      store.machine.clock.advance_us(20'000'000);
      ASSERT_TRUE(recorded.checkpointer->begin());
      EXPECT_FALSE(recorded.checkpointer->begin()) << "one at a time";
      recorded.finish_checkpoint();
      EXPECT_EQ(recorded.manifest->get().checkpoint->parts, 3U);
      // An expired item is in it, since an operation under way might still touch it.
      EXPECT_EQ(recorded.manifest->get().checkpoint->items, store.items().size() + 1);
      items = store.items();
      then_us = now_us(recorded);
    }
    RecordedStore other{*disk_, then_us, 3};
    EXPECT_EQ(other.store.items(), items);
    EXPECT_EQ(other.recovered.items, items.size());
    EXPECT_EQ(other.recovered.base_items, items.size() + 1);
    EXPECT_EQ(other.recovered.expired, 1U);
    EXPECT_EQ(other.recovered.records, 0U);
    EXPECT_TRUE(index::Checker<ItemTraits>::check(other.store.store.tree()).ok());
    EXPECT_EQ(other.store.store.total(counter::items_added), items.size());
    EXPECT_THAT(other.store.ask("get dies large\r\n"), ::testing::StartsWith("VALUE large 1 100000\r\nLLLL"));
    EXPECT_THAT(other.store.ask("mg stale v\r\n"), ::testing::HasSubstr("VA 2 X W\r\nab"));
  }
}

TEST_F(RoundTrip, CheckpointAndJournalGiveTheItemsWhateverHappenedMeanwhile) {
  const std::vector<std::string> keys = some_keys();
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    clear();
    runtime::Random random{seed};
    ItemsSeen items;
    std::uint64_t then_us = kBegin;
    std::uint64_t greatest = 0;
    for (int incarnation = 1; incarnation <= 4; ++incarnation) {
      SCOPED_TRACE(::testing::Message() << "seed " << seed << ", incarnation " << incarnation);
      RecordedStore recorded{*disk_, then_us, 1 + seed % 3};
      TextStore& store = recorded.store;
      ASSERT_EQ(recorded_of(store.items()), items);
      ASSERT_TRUE(index::Checker<ItemTraits>::check(store.store.tree()).ok());
      EXPECT_GE(recorded.recovered.ceiling, greatest);
      const std::size_t commands = 60 + random.below(100);
      const std::size_t begins = random.below(2 * commands);
      for (std::size_t i = 0; i < commands; ++i) {
        if (i == begins) {
          recorded.checkpointer->begin();
        }
        store.ask(some_command(keys, random), [&] {
          if (random.below(10) == 0) {
            recorded.checkpointer->step();
          }
          if (random.below(5) == 0) {
            recorded.journal->step();
          }
        });
        store.machine.clock.advance_us(random.below(400'000));
      }
      recorded.finish_checkpoint();
      then_us = now_us(recorded);
      items = recorded_of(store.items());
      greatest = store.store.greatest_order(0);
    }
  }
}

/// Cuts a history at some moments. Returns how many cuts are not the store's state after some command.
std::size_t cuts_that_are_none(std::uint64_t seed, bool hasty,
                               const std::function<std::string(runtime::Random&)>& command) {
  runtime::Random random{seed};
  KeptDisk disk;
  RecordedStore recorded{disk, kBegin, 1 + seed % 3, {.rate_bytes = 0, .parts = 2}, hasty};
  TextStore& store = recorded.store;
  std::vector<ItemsSeen> states{RoundTrip::killed_of(store.items())};
  std::vector<std::unique_ptr<KeptDisk>> cuts;
  for (int i = 0; i < 200; ++i) {
    if (random.below(8) == 0) {
      recorded.checkpointer->begin();
    }
    store.ask(command(random), [&] {
      const std::uint64_t completed = recorded.checkpointer->status().completed;
      if (random.below(6) == 0) {
        recorded.checkpointer->step();
      }
      if (recorded.checkpointer->status().completed > completed) {
        cuts.push_back(disk.copy());
      }
      if (random.below(25) == 0) {
        recorded.journal->step();
      }
      if (random.below(60) == 0) {
        cuts.push_back(disk.copy());
      }
    });
    states.push_back(RoundTrip::killed_of(store.items()));
  }
  recorded.finish_checkpoint();
  std::size_t wrong = 0;
  for (const auto& cut : cuts) {
    TextStore other{2};
    auto directory = open_data_directory(*cut);
    EXPECT_TRUE(directory.ok()) << directory.error().message;
    const auto found = recover(*cut, directory.value().manifest, other.store, {});
    EXPECT_TRUE(found.ok()) << found.error().message;
    const ItemsSeen items = RoundTrip::killed_of(other.items());
    wrong += std::find(states.begin(), states.end(), items) == states.end() ? 1U : 0U;
  }
  return wrong;
}

TEST_F(RoundTrip, AKilledProcessLeavesTheStateAfterSomeCommand) {
  const std::vector<std::string> keys = some_keys();
  // None of these is seen half done, and nothing expires.
  const auto command = [&keys](runtime::Random& random) -> std::string {
    const std::string& key = keys[random.below(keys.size())];
    switch (random.below(12)) {
      case 0:
        return "delete " + key + "\r\n";
      case 1:
        return "mx " + key.substr(0, 6) + " p X\r\n";
      case 2:
        return "mt " + key.substr(0, 6) + " p T" + std::to_string(1000 + random.below(1000)) + "\r\n";
      case 3:
        return "mb 3\r\nms " + key + " 1\r\n1\r\nms " + keys[random.below(keys.size())] +
               " 1\r\n2\r\nms a 1\r\n3\r\n";
      case 4:
        return "touch " + key + " " + std::to_string(1000 + random.below(1000)) + "\r\n";
      default:
        // Long, so that a checkpoint takes a while.
        return "set " + key + " 1 0 8000\r\n" + std::string(8000, static_cast<char>('a' + random.below(26))) +
               "\r\n";
    }
  };
  for (std::uint64_t seed = 1; seed <= (kSanitized ? 8U : 40U); ++seed) {
    ASSERT_EQ(cuts_that_are_none(seed, false, command), 0U) << "seed " << seed;
  }
  std::size_t found = 0;
  for (std::uint64_t seed = 1; seed <= 40 && found == 0; ++seed) {
    found += cuts_that_are_none(seed, true, command);
  }
  EXPECT_GT(found, 0U) << "a checkpoint that counts too early is found";
}

// The batch leaves nothing behind, but its client knows the cas of an item. The process is killed, and the next one
// begins with a clock that went back.
TEST_F(RoundTrip, ABatchThatMakesAndRemovesAKeyKeepsItsCasFromTheNextProcess) {
  for (const bool expired : {false, true}) {
    clear();
    std::unique_ptr<KeptDisk> killed;
    std::uint64_t told = 0;
    {
      RecordedStore recorded{*disk_, kBegin};
      TextStore& store = recorded.store;
      const auto settle = [&] {
        for (int i = 0; i < 3; ++i) {
          store.run_until_idle();  // the workers pass the epoch that the writer has closed
          while (recorded.journal->step()) {
          }
        }
      };
      if (expired) {
        store.ask("set k 0 5 1\r\n1\r\n");
      }
      settle();
      store.machine.clock.advance_us(60'000'000);
      const std::string reply = store.ask("mb 2\r\nms k 1 c\r\n2\r\nmd k\r\n");
      ASSERT_THAT(reply, ::testing::StartsWith("HD c"));
      told = std::stoull(reply.substr(4));
      settle();
      killed = disk_->copy();
    }
    RecordedStore next{*killed, kBegin};
    EXPECT_EQ(next.store.ask("get k\r\n"), "END\r\n");
    EXPECT_GE(next.recovered.ceiling, told) << "expired " << expired;
  }
}

}  // namespace
}  // namespace mxkv::server::testing
