// Limits by prefix: the items of a quota that is full make room for its others, or its writes are refused. No other
// items pay for that.
#include "server/store/upkeep/quota_eviction.hpp"

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/server/durability/text_store.hpp"
#include "tests/unit/server/store/full_count.hpp"

namespace mxkv::server::testing {
namespace {

constexpr std::size_t kMemory = std::size_t{64} << 20U;
constexpr std::uint64_t kLimit = 100'000;

std::string set_text(const std::string& key, std::size_t bytes) {
  return "set " + key + " 0 0 " + std::to_string(bytes) + "\r\n" + std::string(bytes, 'x') + "\r\n";
}

/// Workers do the upkeep in each round, and a round takes some microseconds.
class QuotaStore {
 public:
  explicit QuotaStore(std::vector<QuotaOptions> quotas, std::size_t memory = kMemory)
      : text{2, memory, false, std::move(quotas)} {
    text.ends_round = [this](std::size_t worker) {
      text.store.maintain(text.machine[worker]);
      text.machine.clock.advance_us(20);
    };
  }
  ~QuotaStore() { EXPECT_EQ(wrong_count(text.store), ""); }
  QuotaStore(const QuotaStore&) = delete;
  QuotaStore& operator=(const QuotaStore&) = delete;

  [[nodiscard]] std::uint64_t total(std::string_view key, quota_count which) const {
    return text.store.quotas()->total(text.store.quotas()->prefixes().find(key), which);
  }
  [[nodiscard]] std::uint64_t charge(std::string_view key) const {
    return text.store.quotas()->charge(text.store.quotas()->prefixes().find(key));
  }
  [[nodiscard]] std::size_t present(std::string_view prefix) {
    std::size_t count = 0;
    for (const auto& [key, item] : text.items()) {
      count += key.starts_with(prefix) ? 1 : 0;
    }
    return count;
  }
  void pass_a_moment() {
    for (int i = 0; i < 20; ++i) {
      text.machine.clock.advance_us(1000);
      text.ask("mn\r\n");
    }
  }

  TextStore text;
};

TEST(QuotaEviction, AFullQuotaEvictsItsOwnItemsAndNoOthers) {
  QuotaStore store{{{.prefix = "in:", .most_bytes = kLimit}}};
  for (int i = 0; i < 200; ++i) {
    ASSERT_EQ(store.text.ask(set_text("im" + std::to_string(i), 200)), "STORED\r\n");
    ASSERT_EQ(store.text.ask(set_text("io" + std::to_string(i), 200)), "STORED\r\n");
  }
  for (int i = 0; i < 5'000; ++i) {
    ASSERT_EQ(store.text.ask(set_text("in:" + std::to_string(i), 200)), "STORED\r\n");
    ASSERT_LE(store.charge("in:"), kLimit + kLimit / 5) << i;
  }
  store.pass_a_moment();
  EXPECT_LE(store.charge("in:"), kLimit);
  EXPECT_GE(store.charge("in:"), kLimit - kLimit / 4) << "no more goes than has to";
  EXPECT_EQ(store.present("im"), 200U);
  EXPECT_EQ(store.present("io"), 200U);
  EXPECT_EQ(store.present("in:"), store.total("in:", quota_count::items));
  EXPECT_EQ(store.total("in:", quota_count::sets), 5'000U);
  EXPECT_EQ(store.total("in:", quota_count::evictions), 5'000U - store.present("in:"));
  EXPECT_EQ(store.total("in:", quota_count::evicted_unread), store.total("in:", quota_count::evictions));
  EXPECT_EQ(store.text.store.total(counter::idle_walks), 0U) << "memory was never short";
}

TEST(QuotaEviction, ItemsThatAreReadOutliveAFloodInTheirQuota) {
  QuotaStore store{{{.prefix = "in:", .most_bytes = kLimit}}};
  for (int i = 0; i < 50; ++i) {
    ASSERT_EQ(store.text.ask(set_text("in:read" + std::to_string(i), 200)), "STORED\r\n");
  }
  for (int i = 0; i < 5'000; ++i) {
    ASSERT_EQ(store.text.ask(set_text("in:" + std::to_string(i * 7919 % 5000), 200)), "STORED\r\n");
    if (i % 500 == 0) {
      store.text.machine.clock.advance_us(3'000'000);
      for (int n = 0; n < 50; ++n) {
        store.text.ask("get in:read" + std::to_string(n) + "\r\n");
      }
    }
  }
  EXPECT_GT(store.present("in:read"), 45U);
}

TEST(QuotaEviction, APrefixWithinAnotherHasALimitOfItsOwn) {
  QuotaStore store{{{.prefix = "a:", .most_bytes = kLimit}, {.prefix = "a:b:"}, {.prefix = "a:c:"}}};
  for (int i = 0; i < 1'000; ++i) {
    ASSERT_EQ(store.text.ask(set_text("a:b:" + std::to_string(i), 200)), "STORED\r\n");
    ASSERT_EQ(store.text.ask(set_text("a:" + std::to_string(i), 200)), "STORED\r\n");
    ASSERT_EQ(store.text.ask(set_text("a:z" + std::to_string(i), 200)), "STORED\r\n");
  }
  store.pass_a_moment();
  EXPECT_EQ(store.total("a:b:", quota_count::items), 1'000U);
  EXPECT_EQ(store.total("a:b:", quota_count::evictions), 0U);
  EXPECT_LE(store.charge("a:"), kLimit);
  EXPECT_GT(store.total("a:", quota_count::evictions), 0U);
}

TEST(QuotaEviction, ASmallerLimitEvictsAtOnceAndALargerOneGivesRoom) {
  QuotaStore store{{{.prefix = "in:"}}};
  for (int i = 0; i < 1'000; ++i) {
    ASSERT_EQ(store.text.ask(set_text("in:" + std::to_string(i), 200)), "STORED\r\n");
  }
  store.pass_a_moment();
  EXPECT_EQ(store.total("in:", quota_count::items), 1'000U) << "there is no limit";
  store.text.store.set_quotas({{.prefix = "in:", .most_bytes = kLimit}});
  store.pass_a_moment();
  EXPECT_LE(store.charge("in:"), kLimit);
  const std::uint64_t evictions = store.total("in:", quota_count::evictions);
  store.text.store.set_quotas({{.prefix = "in:", .most_bytes = 10 * kLimit}});
  for (int i = 0; i < 1'000; ++i) {
    ASSERT_EQ(store.text.ask(set_text("in:" + std::to_string(i), 200)), "STORED\r\n");
  }
  EXPECT_EQ(store.total("in:", quota_count::evictions), evictions);
}

TEST(QuotaEviction, AFullQuotaRefusesOnlyWhatMakesItLarger) {
  QuotaStore store{{{.prefix = "in:", .most_bytes = kLimit, .evicts = false}}};
  const std::string refusal = "SERVER_ERROR out of memory storing object\r\n";
  int stored = 0;
  std::string answer;
  while ((answer = store.text.ask(set_text("in:" + std::to_string(stored), 200))) == "STORED\r\n") {
    ASSERT_LT(++stored, 5'000) << "the limit holds";
  }
  EXPECT_EQ(answer, refusal);
  EXPECT_LE(store.charge("in:"), kLimit + kLimit / 5);
  EXPECT_EQ(store.total("in:", quota_count::evictions), 0U);
  EXPECT_EQ(store.present("in:"), static_cast<std::size_t>(stored)) << "nothing is lost";
  EXPECT_EQ(store.text.ask(set_text("in:0", 200)), "STORED\r\n");
  EXPECT_EQ(store.text.ask(set_text("in:0", 201)), refusal);
  EXPECT_EQ(store.text.ask("append in:1 0 0 1\r\ny\r\n"), refusal);
  EXPECT_EQ(store.text.ask("ms in:new 1\r\ny\r\n"), refusal);
  EXPECT_EQ(store.text.ask("ma in:new N0\r\n"), refusal);
  EXPECT_EQ(store.text.ask("mb 2\r\nms out 1\r\ny\r\nms in:new 1\r\ny\r\n"), "EX 2 " + refusal);
  EXPECT_EQ(store.text.ask("get out\r\n"), "END\r\n") << "nothing of a batch is done";
  EXPECT_EQ(store.text.ask(set_text("in:1", 1)), "STORED\r\n");
  EXPECT_EQ(store.text.ask("incr in:1 1\r\n"),
            "CLIENT_ERROR cannot increment or decrement non-numeric value\r\n");
  EXPECT_EQ(store.text.ask("touch in:2 100\r\n"), "TOUCHED\r\n");
  EXPECT_EQ(store.text.ask(set_text("out", 200)), "STORED\r\n");
  EXPECT_EQ(store.total("in:", quota_count::refused), 6U);
  EXPECT_EQ(store.text.store.total(counter::store_no_memory), 0U) << "there is memory";

  // The smaller value has left room.
  for (int i = 0; store.text.ask(set_text("in:more" + std::to_string(i), 200)) == "STORED\r\n"; ++i) {
    ASSERT_LT(i, 3) << "there is no more room than for the bytes that went";
  }

  // Sets come together: all but one are of other prefixes, and are stored in their order.
  std::string together;
  for (int i = 0; i < 8; ++i) {
    together += set_text("out" + std::to_string(i), 2) + (i == 5 ? set_text("in:new", 200) : "");
  }
  std::string expected;
  for (int i = 0; i < 8; ++i) {
    expected += std::string{"STORED\r\n"} + (i == 5 ? refusal : "");
  }
  EXPECT_EQ(store.text.ask(together), expected);

  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(store.text.ask("delete in:" + std::to_string(i) + "\r\n"), "DELETED\r\n");
  }
  store.pass_a_moment();
  EXPECT_EQ(store.text.ask(set_text("in:new", 200)), "STORED\r\n");
  store.text.ask("flush_all\r\n");
  for (int i = 0; i < 50 && store.charge("in:") != 0; ++i) {
    store.pass_a_moment();  // the cleared tree passes its epoch, and is taken apart
  }
  EXPECT_EQ(store.charge("in:"), 0U);
}

// All come within a millisecond, the usual time between two looks at the limits.
TEST(QuotaEviction, APipelineFillsAQuotaThatRefusesNoFurtherThanToItsLimit) {
  for (const bool in_rows : {true, false}) {
    SCOPED_TRACE(in_rows);
    constexpr std::uint64_t kLarge = std::uint64_t{1} << 20U;
    QuotaStore store{{{.prefix = "in:", .most_bytes = kLarge, .evicts = false}}};
    std::string together;
    for (int i = 0; i < 6'000; ++i) {
      const std::string set = set_text("in:" + std::to_string(i), 400);
      together +=
          in_rows ? set : "ms in:" + std::to_string(i) + " 400 T0\r\n" + std::string(400, 'v') + "\r\n";
    }
    store.text.ask(together);
    EXPECT_LT(store.charge("in:"), kLarge + 1'000);
    EXPECT_GT(store.charge("in:"), kLarge - 1'000);
    EXPECT_EQ(store.total("in:", quota_count::refused), 6'000U - store.present("in:"));
  }
}

TEST(QuotaEviction, AQuotaKeepsLargeItemsIfBytesCount) {
  for (const bool weighs_size : {true, false}) {
    SCOPED_TRACE(weighs_size);
    QuotaStore store{{{.prefix = "in:", .most_bytes = kLimit, .weighs_size = weighs_size}}};
    // The large ones are a little younger than the small ones around them, and all are read once.
    for (int i = 0; i < 3'000; ++i) {
      const std::string key = "in:" + std::to_string(i);
      store.text.ask(set_text(key, i % 4 == 0 ? 1'500 : 50));
      store.text.ask("get " + key + "\r\n");
    }
    store.pass_a_moment();
    std::size_t large = 0;
    for (const auto& [key, item] : store.text.items()) {
      large += item.value.size() == 1'500 ? 1 : 0;
    }
    if (weighs_size) {
      EXPECT_LT(large, store.present("in:") / 8) << "large items make room first";
    } else {
      EXPECT_GT(large, store.present("in:") / 8) << "sizes have no say";
    }
  }
}

TEST(QuotaEviction, SampledGetsCountAsHitsAndMisses) {
  QuotaStore store{{{.prefix = "in:"}}};
  store.text.ask(set_text("in:there", 10));
  runtime::Worker& worker = store.text.machine[0];
  for (const std::string_view key : {"in:there", "in:gone", "in:gone", "out"}) {
    store.text.store.sampled(worker, key, true);
    store.text.store.sampled(worker, key, false);
    store.text.ask("mn\r\n");
  }
  EXPECT_EQ(store.total("in:", quota_count::sampled_hits), 1U);
  EXPECT_EQ(store.total("in:", quota_count::sampled_misses), 2U);
}

TEST(QuotaEviction, OthersNeedTakesNothingOfWhatAQuotaKeeps) {
  constexpr std::size_t kSmall = std::size_t{24} << 20U;
  QuotaStore store{{{.prefix = "kept:", .keep_bytes = 4'000'000}, {.prefix = "lost:", .keep_bytes = 100'000}},
                   kSmall};
  store.text.store.set_upkeep({.defragments = false, .evicts = true});
  for (int i = 0; i < 1'000; ++i) {
    ASSERT_EQ(store.text.ask(set_text("kept:" + std::to_string(i), 2000)), "STORED\r\n");
    ASSERT_EQ(store.text.ask(set_text("lost:" + std::to_string(i), 2000)), "STORED\r\n");
  }
  store.text.machine.clock.advance_us(60'000'000);
  for (int i = 0; i < 20'000; ++i) {
    ASSERT_EQ(store.text.ask(set_text("other" + std::to_string(i), 2000)), "STORED\r\n") << i;
    ASSERT_LE(store.text.machine.runtime.budget().used_bytes(), kSmall);
  }
  EXPECT_EQ(store.present("kept:"), 1'000U);
  EXPECT_LT(store.present("lost:"), 200U);
}

TEST(QuotaEviction, AWriteDoesNotFailSoThatOthersKeepTheirs) {
  constexpr std::size_t kSmall = std::size_t{24} << 20U;
  QuotaStore store{{{.prefix = "kept:", .keep_bytes = kSmall}}, kSmall};
  store.text.store.set_upkeep({.defragments = false, .evicts = true});
  for (int i = 0; i < 20'000; ++i) {
    ASSERT_EQ(store.text.ask(set_text("kept:" + std::to_string(i), 2000)), "STORED\r\n") << i;
  }
  EXPECT_GT(store.total("kept:", quota_count::evictions), 0U);
}

}  // namespace
}  // namespace mxkv::server::testing
