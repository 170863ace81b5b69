// Ghosts beside a model, their memory, and their use by many threads.
#include "server/store/upkeep/ghosts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <map>
#include <ranges>
#include <string>
#include <thread>
#include <vector>

#include "runtime/base/random.hpp"

namespace mxkv::server {
namespace {

using runtime::memory_category;

constexpr std::size_t kLimit = std::size_t{64} << 20U;

class GhostTable : public ::testing::Test {
 protected:
  runtime::MemoryBudget budget{kLimit, 1};
  Ghosts ghosts{budget};

  [[nodiscard]] std::size_t charged() const { return budget.category_bytes(memory_category::ghosts); }
};

/// Eight fingerprints in each bucket, the newest first.
class Model {
 public:
  explicit Model(std::uint64_t buckets) : buckets_(buckets) {}
  void add(std::uint64_t hash) {
    std::deque<std::uint64_t>& bucket = table_[hash % buckets_];
    bucket.push_front(fingerprint(hash));
    bucket.resize(std::min<std::size_t>(bucket.size(), 8));
  }
  bool take(std::uint64_t hash) {
    std::deque<std::uint64_t>& bucket = table_[hash % buckets_];
    const auto found = std::ranges::find(bucket, fingerprint(hash));
    if (found == bucket.end()) {
      return false;
    }
    bucket.erase(found);
    return true;
  }

 private:
  static std::uint64_t fingerprint(std::uint64_t hash) { return std::max<std::uint64_t>(hash >> 48U, 1); }
  std::uint64_t buckets_;
  std::map<std::uint64_t, std::deque<std::uint64_t>> table_;
};

TEST_F(GhostTable, AnswersAsTheModelDoes) {
  ghosts.fit(1);
  Model model{ghosts.bytes() / 16};
  runtime::Random random{1};
  std::size_t returned = 0;
  for (int i = 0; i < 400'000; ++i) {
    // Few buckets and fingerprints, zero among them, so that all lanes are met.
    const std::uint64_t hash = random.below(16) << 48U | random.below(4);
    if (random.below(2) == 0) {
      ghosts.add(hash);
      model.add(hash);
    } else {
      const bool known = model.take(hash);
      ASSERT_EQ(ghosts.take(hash), known) << i;
      returned += known ? 1 : 0;
    }
  }
  EXPECT_GT(returned, 50'000U);
}

TEST_F(GhostTable, RemembersAboutAsManyAsThereAreItems) {
  constexpr std::uint64_t kItems = 100'000;
  ghosts.fit(kItems);
  EXPECT_GE(ghosts.bytes(), 2 * kItems);
  EXPECT_LE(ghosts.bytes(), 4 * kItems);
  const auto hash = [](std::uint64_t i) { return Ghosts::hash_of("key:" + std::to_string(i)); };
  for (std::uint64_t i = 0; i < 10 * kItems; ++i) {
    ghosts.add(hash(i));
  }
  const auto known = [&](std::uint64_t from) {
    std::uint64_t count = 0;
    for (std::uint64_t i = from; i < from + kItems; ++i) {
      count += ghosts.take(hash(i)) ? 1 : 0;
    }
    return static_cast<double>(count) / kItems;
  };
  EXPECT_GT(known(9 * kItems), 0.75);
  EXPECT_LT(known(9 * kItems), 0.001) << "each comes back once";
  EXPECT_LT(known(0), 0.005) << "the first ones are forgotten, and others seldom look like them";
  EXPECT_LT(known(20 * kItems), 0.001) << "these were never there";
}

TEST_F(GhostTable, IsChargedAndFollowsTheItemsAndTheLimit) {
  EXPECT_FALSE(ghosts.any());
  EXPECT_FALSE(ghosts.take(7));
  ghosts.add(7);
  EXPECT_EQ(charged(), 0U);
  ghosts.fit(200'000);
  EXPECT_TRUE(ghosts.any());
  EXPECT_EQ(ghosts.bytes(), std::size_t{2} << 18U);
  EXPECT_EQ(charged(), ghosts.bytes());
  ghosts.fit(120'000);
  EXPECT_EQ(ghosts.bytes(), std::size_t{2} << 18U) << "it shrinks late";
  ghosts.fit(90'000);
  EXPECT_EQ(ghosts.bytes(), std::size_t{2} << 17U);
  EXPECT_EQ(charged(), ghosts.bytes());
  ghosts.fit(100'000'000);
  EXPECT_EQ(ghosts.bytes(), kLimit / 32) << "a part of the limit at most";
  budget.set_limit_bytes(kLimit / 4);
  ghosts.fit(100'000'000);
  EXPECT_EQ(ghosts.bytes(), kLimit / 4 / 32);
  budget.set_limit_bytes(2 * kLimit);
  ghosts.fit(100'000'000);
  EXPECT_EQ(ghosts.bytes(), 2 * kLimit / 32);
  EXPECT_EQ(charged(), ghosts.bytes());
  ghosts.fit(0);
  EXPECT_FALSE(ghosts.any());
  EXPECT_EQ(charged(), 0U);
  EXPECT_EQ(budget.used_bytes(), 0U);
}

TEST_F(GhostTable, ForgetsAllWhenItIsCleared) {
  ghosts.clear();
  ghosts.fit(1000);
  const std::size_t before = ghosts.bytes();
  for (std::uint64_t i = 0; i < 1000; ++i) {
    ghosts.add(Ghosts::hash_of(std::to_string(i)));
  }
  ghosts.clear();
  EXPECT_EQ(ghosts.bytes(), before);
  for (std::uint64_t i = 0; i < 1000; ++i) {
    EXPECT_FALSE(ghosts.take(Ghosts::hash_of(std::to_string(i))));
  }
  ghosts.add(7);
  EXPECT_TRUE(ghosts.take(7));
}

TEST_F(GhostTable, StaysAsItIsIfMemoryIsRefused) {
  ghosts.fit(1000);
  const std::size_t before = ghosts.bytes();
  ASSERT_TRUE(budget.try_draw(kLimit - before));
  ghosts.fit(1'000'000);
  EXPECT_EQ(ghosts.bytes(), before);
  EXPECT_EQ(charged(), before);
  budget.give_back(kLimit - before);
}

TEST_F(GhostTable, HalfOfTheGhostsOutliveAChangeOfTheSize) {
  constexpr std::uint64_t kGhosts = 10'000;
  for (const std::uint64_t items : {40'000U, 160'000U, 20'000U}) {
    ghosts.fit(80'000);
    for (std::uint64_t i = 0; i < kGhosts; ++i) {
      ghosts.add(Ghosts::hash_of(std::to_string(i)));
    }
    ghosts.fit(items);
    std::uint64_t known = 0;
    for (std::uint64_t i = 0; i < kGhosts; ++i) {
      known += ghosts.take(Ghosts::hash_of(std::to_string(i))) ? 1 : 0;
    }
    EXPECT_GT(known, kGhosts / 5) << items;
    ghosts.fit(0);
  }
}

TEST_F(GhostTable, ManyThreadsMayUseItWhileItChanges) {
  std::atomic<bool> ends{false};
  std::vector<std::thread> threads;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    threads.emplace_back([&, seed] {
      runtime::Random random{seed};
      while (!ends.load(std::memory_order_relaxed)) {
        const std::uint64_t hash = Ghosts::hash_of(std::to_string(random.below(1000)));
        random.below(2) == 0 ? ghosts.add(hash) : static_cast<void>(ghosts.take(hash));
        if (random.below(100) == 0) {
          random.below(4) == 0 ? ghosts.clear() : ghosts.fit(random.below(100'000));
        }
      }
    });
  }
  runtime::Random random{9};
  for (int i = 0; i < 20'000; ++i) {
    ghosts.fit(random.below(100'000));
  }
  ends.store(true, std::memory_order_relaxed);
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(charged(), ghosts.bytes());
  ghosts.fit(0);
  EXPECT_EQ(budget.used_bytes(), 0U);
}

TEST(GhostHash, KeysThatDifferInOneByteHaveOtherBucketsAndFingerprints) {
  std::map<std::uint64_t, int> buckets;
  std::map<std::uint64_t, int> fingerprints;
  constexpr int kKeys = 65536;
  for (int i = 0; i < kKeys; ++i) {
    const std::uint64_t hash = Ghosts::hash_of("user" + std::string(15, '0') + std::to_string(100'000 + i));
    ++buckets[hash & 0xFFFFU];
    ++fingerprints[hash >> 48U];
  }
  const auto most = [](const auto& counts) { return std::ranges::max(std::views::values(counts)); };
  EXPECT_GT(buckets.size(), kKeys / 2U);
  EXPECT_LT(most(buckets), 16);
  EXPECT_GT(fingerprints.size(), kKeys / 2U);
  EXPECT_LT(most(fingerprints), 16);
  EXPECT_NE(Ghosts::hash_of("a"), Ghosts::hash_of(std::string("a\0", 2)));
}

}  // namespace
}  // namespace mxkv::server
