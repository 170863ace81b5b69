// What a store held is what another one holds that was made of its checkpoint and its journal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "index/checker.hpp"
#include "server/durability/data_directory.hpp"
#include "server/durability/recovery.hpp"
#include "server/journal/posix_disk.hpp"
#include "tests/unit/server/durability/recorded_store.hpp"

namespace mxkv::server::testing {
namespace {

class RoundTrip : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(path_);
    auto opened = PosixDisk::open_directory(path_);
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    disk_ = std::move(opened).value();
    auto directory = open_data_directory(*disk_);
    ASSERT_TRUE(directory.ok()) << directory.error().message;
    directory_ = std::move(directory).value();
    ASSERT_EQ(begin_service(*disk_, directory_, 1), std::nullopt);
    manifest_ = std::make_unique<ManifestFile>(*disk_, directory_.manifest);
  }
  void TearDown() override { std::filesystem::remove_all(path_); }

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
        return random.below(12) != 0 ? "incr " + key + " 1\r\n"
               : random.below(2) == 0 ? "flush_all\r\n"
                                      : "flush_all 5\r\n";
      default:
        return "set " + key + " " + std::to_string(random.below(9)) + " " + exptime() + " " + value() + "\r\n";
    }
  }

  Checkpointer make_checkpointer(TextStore& store, RecordedStore& journal, CheckpointOptions options) {
    return {*disk_, *manifest_, store.store, journal, options};
  }
  /// Until it has ended.
  static void finish(Checkpointer& checkpointer, TextStore& store) {
    for (int i = 0; checkpointer.status().running; ++i) {
      ASSERT_LT(i, 100'000);
      if (!checkpointer.step()) {
        store.machine.run_until_idle();
        store.machine.clock.advance_us(1000);
      }
    }
    EXPECT_EQ(checkpointer.status().last_error, "");
    EXPECT_EQ(checkpointer.status().failed, 0U);
  }

  runtime::Result<Recovered> recover_into(TextStore& store, const RecoveryOptions& options = {}) {
    auto manifest = read_manifest(*disk_);
    EXPECT_TRUE(manifest.ok() && manifest.value());
    return recover(*disk_, *manifest.value(), store.store, options);
  }
  static void set_clock(TextStore& store, const TextStore& other) {
    store.machine.clock.advance_us(other.machine.clock.steady_us() - store.machine.clock.steady_us());
  }

  std::string path_ = ::testing::TempDir() + "round_trip_test";
  std::unique_ptr<PosixDisk> disk_;
  DataDirectory directory_;
  std::unique_ptr<ManifestFile> manifest_;
};

TEST_F(RoundTrip, ACheckpointHoldsAllThatIsKnownOfItems) {
  for (const bool compress : {false, true}) {
    SetUp();
    TextStore store;
    RecordedStore journal{store, some_keys()};
    runtime::Random random{5};
    std::string text;
    for (int i = 0; i < 900; ++i) {
      text = "set many:" + std::to_string(random.below(3000)) + " " + std::to_string(random.below(3)) + " " +
             std::to_string(random.below(2) * 1000) + " 5\r\nhello\r\n";
      store.ask(text);
    }
    store.ask("set large 1 0 100000\r\n" + std::string(100'000, 'L') + "\r\n");
    store.ask("ms binary 2 b E77\r\nab\r\n");
    store.ask("ms stale 2 F5 T100\r\nab\r\n");
    store.ask("md stale I T100\r\n");
    store.machine.clock.advance_us(700'000'000);
    store.ask("get many:" + std::to_string(random.below(3000)) + " large stale\r\n");
    store.ask("set dies 0 1 1\r\n1\r\n");
    store.machine.clock.advance_us(2'000'000);
    Checkpointer checkpointer{*disk_, *manifest_, store.store, journal,
                              {.rate_bytes = 0, .compress = compress, .parts = 3}};
    ASSERT_TRUE(checkpointer.begin());
    finish(checkpointer, store);
    EXPECT_EQ(journal.truncated, manifest_->get().checkpoint->begun);
    EXPECT_EQ(manifest_->get().checkpoint->parts, 3U);

    TextStore other{3};
    set_clock(other, store);
    const auto recovered = recover_into(other);
    ASSERT_TRUE(recovered.ok()) << recovered.error().message;
    EXPECT_EQ(other.items(), store.items());
    EXPECT_EQ(recovered.value().items, store.items().size());
    EXPECT_EQ(recovered.value().base_items, store.items().size());
    EXPECT_TRUE(index::Checker<ItemTraits>::check(other.store.tree()).ok());
    EXPECT_EQ(other.store.total(counter::items_added), store.items().size());
    EXPECT_THAT(other.ask("get dies large\r\n"), ::testing::StartsWith("VALUE large 1 100000\r\nLLLL"));
    EXPECT_EQ(other.ask("mg stale v\r\n"), store.ask("mg stale v\r\n"));
  }
}

TEST_F(RoundTrip, CheckpointAndJournalGiveWhatWasThereWhateverHappenedMeanwhile) {
  const std::vector<std::string> keys = some_keys();
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(seed);
    SetUp();
    TextStore store;
    RecordedStore journal{store, keys};
    Checkpointer checkpointer{*disk_, *manifest_, store.store, journal, {.rate_bytes = 0, .parts = 2}};
    runtime::Random random{seed};
    const std::size_t commands = 100 + random.below(150);
    const std::size_t begins = random.below(commands);
    for (std::size_t i = 0; i < commands; ++i) {
      if (i == begins) {
        checkpointer.begin();
      }
      store.ask(some_command(keys, random), [&] {
        if (random.below(10) == 0) {
          checkpointer.step();
        }
        if (random.below(20) == 0) {
          journal.next_epoch();
        }
      });
      store.machine.clock.advance_us(random.below(400'000));
    }
    finish(checkpointer, store);
    journal.write_segments(path_, manifest_->get().directory);

    TextStore other{1 + seed % 3};
    set_clock(other, store);
    const auto recovered = recover_into(other);
    ASSERT_TRUE(recovered.ok()) << recovered.error().message;
    EXPECT_EQ(recovered.value().epoch, journal.current());
    ItemsSeen expected = store.items();
    ItemsSeen found = other.items();
    for (ItemsSeen* items : {&expected, &found}) {
      for (auto& [key, item] : *items) {
        item.access = 0;  // reads are not recorded
        item.marks &= ~std::uint32_t{Item::kWon};
      }
    }
    ASSERT_EQ(found, expected);
    EXPECT_TRUE(index::Checker<ItemTraits>::check(other.store.tree()).ok());
    EXPECT_GE(recovered.value().ceiling, other.store.greatest_cas(0));
    for (const auto& [key, item] : found) {
      EXPECT_LE(item.cas, recovered.value().ceiling);
    }
    // It goes on: what is set is set, and no unique comes again.
    EXPECT_EQ(other.ask("set " + keys[0] + " 0 0 1\r\n1\r\n"), "STORED\r\n");
    EXPECT_GT(other.items().at(keys[0]).cas, recovered.value().ceiling);
  }
}

}  // namespace
}  // namespace mxkv::server::testing
