// The limit and the accounts of workers, step by step on one thread.
#include "runtime/memory/memory_budget.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "runtime/base/random.hpp"

namespace mxkv::runtime {
namespace {

constexpr std::size_t kKiB = 1024;

TEST(MemoryBudget, DrawsUpToTheLimitAndNotAByteMore) {
  MemoryBudget budget(1000, 0);
  EXPECT_TRUE(budget.try_draw(600));
  EXPECT_FALSE(budget.try_draw(401));
  EXPECT_TRUE(budget.try_draw(400));
  EXPECT_FALSE(budget.try_draw(1));
  budget.give_back(1);
  EXPECT_TRUE(budget.try_draw(1));
  EXPECT_EQ(budget.used_bytes(), 1000U);
}

TEST(MemoryBudget, AnUnlimitedBudgetNeverOverflows) {
  MemoryBudget budget(MemoryBudget::kUnlimited, 0);
  EXPECT_TRUE(budget.try_draw(MemoryBudget::kUnlimited));
  EXPECT_FALSE(budget.try_draw(1));
}

TEST(MemoryBudget, ALimitLoweredBelowTheUseRefusesUntilEnoughCameBack) {
  MemoryBudget budget(1000, 0);
  ASSERT_TRUE(budget.try_draw(800));
  budget.set_limit_bytes(500);
  EXPECT_FALSE(budget.try_draw(1));
  budget.give_back(301);
  EXPECT_TRUE(budget.try_draw(1));
  EXPECT_FALSE(budget.try_draw(1));
}

TEST(MemoryBudget, UnconditionalChargesExceedTheLimitAndAreCounted) {
  MemoryBudget budget(100, 0);
  budget.charge_unconditionally(memory_category::tasks, 150);
  EXPECT_EQ(budget.used_bytes(), 150U);
  EXPECT_EQ(budget.category_bytes(memory_category::tasks), 150U);
  EXPECT_FALSE(budget.try_draw(1));
  budget.refund(memory_category::tasks, 150);
  EXPECT_TRUE(budget.try_draw(100));
}

TEST(MemoryAccount, SmallChargesTouchTheSharedBudgetOncePerCredit) {
  MemoryBudget budget(1024 * kKiB, 1);
  MemoryAccount& account = budget.account(WorkerId(0));
  ASSERT_TRUE(account.try_charge(memory_category::output, 1));
  const std::size_t after_first = budget.used_bytes();
  EXPECT_EQ(after_first, MemoryAccount::kCreditBytes);
  for (std::size_t i = 1; i < MemoryAccount::kCreditBytes; ++i) {
    ASSERT_TRUE(account.try_charge(memory_category::output, 1));
  }
  EXPECT_EQ(budget.used_bytes(), after_first);
  EXPECT_EQ(budget.category_bytes(memory_category::output), MemoryAccount::kCreditBytes);
}

TEST(MemoryAccount, NearTheLimitItTakesJustWhatIsMissing) {
  MemoryBudget budget(100, 1);
  MemoryAccount& account = budget.account(WorkerId(0));
  EXPECT_TRUE(account.try_charge(memory_category::items, 60));
  EXPECT_FALSE(account.try_charge(memory_category::items, 41));
  EXPECT_TRUE(account.try_charge(memory_category::items, 40));
  EXPECT_EQ(budget.used_bytes(), 100U);
}

TEST(MemoryAccount, ARefusedChargeChangesNothing) {
  MemoryBudget budget(100, 1);
  MemoryAccount& account = budget.account(WorkerId(0));
  EXPECT_FALSE(account.try_charge(memory_category::items, 101));
  EXPECT_EQ(budget.used_bytes(), 0U);
  EXPECT_EQ(account.used_bytes(memory_category::items), 0);
}

TEST(MemoryAccount, WhatOneWorkerChargedAnotherMayRefund) {
  MemoryBudget budget(1024 * kKiB, 2);
  ASSERT_TRUE(budget.account(WorkerId(0)).try_charge(memory_category::items, 300 * kKiB));
  budget.account(WorkerId(1)).refund(memory_category::items, 300 * kKiB);
  EXPECT_EQ(budget.account(WorkerId(1)).used_bytes(memory_category::items),
            -300 * static_cast<std::int64_t>(kKiB));
  EXPECT_EQ(budget.category_bytes(memory_category::items), 0U);
  EXPECT_LE(budget.used_bytes(), MemoryAccount::kMaxIdleCredit);
}

TEST(MemoryAccount, MoveChangesCategoriesButNotTheBudget) {
  MemoryBudget budget(1024 * kKiB, 1);
  MemoryAccount& account = budget.account(WorkerId(0));
  ASSERT_TRUE(account.try_charge(memory_category::items, 5000));
  const std::size_t used = budget.used_bytes();
  account.move(memory_category::items, memory_category::retired, 2000);
  EXPECT_EQ(budget.category_bytes(memory_category::items), 3000U);
  EXPECT_EQ(budget.category_bytes(memory_category::retired), 2000U);
  EXPECT_EQ(budget.used_bytes(), used);
}

TEST(MemoryAccount, FlushReturnsEveryUnusedByte) {
  MemoryBudget budget(1024 * kKiB, 1);
  MemoryAccount& account = budget.account(WorkerId(0));
  ASSERT_TRUE(account.try_charge(memory_category::items, 10));
  account.flush();
  EXPECT_EQ(budget.used_bytes(), 10U);
  account.refund(memory_category::items, 10);
  account.flush();
  EXPECT_EQ(budget.used_bytes(), 0U);
}

TEST(MemoryAccount, TheLimitHoldsAndIdleCreditIsBoundedUnderRandomCharges) {
  constexpr std::size_t kWorkers = 4;
  MemoryBudget budget(2048 * kKiB, kWorkers);
  std::vector<std::size_t> charged(kWorkers, 0);
  std::size_t refused = 0;
  Random random(7);
  for (int i = 0; i < 100'000; ++i) {
    const std::size_t worker = random.below(kWorkers);
    MemoryAccount& account = budget.account(WorkerId(static_cast<WorkerId::rep>(worker)));
    const std::size_t bytes = random.below(200 * kKiB);
    if (random.below(2) == 0) {
      if (account.try_charge(memory_category::buffers, bytes)) {
        charged[worker] += bytes;
      } else {
        ++refused;
      }
    } else if (bytes <= charged[worker]) {
      account.refund(memory_category::buffers, bytes);
      charged[worker] -= bytes;
    }
    std::size_t sum = 0;
    for (const std::size_t one : charged) {
      sum += one;
    }
    ASSERT_LE(budget.used_bytes(), budget.limit_bytes());
    ASSERT_GE(budget.used_bytes(), sum);
    ASSERT_LE(budget.used_bytes(), sum + kWorkers * MemoryAccount::kMaxIdleCredit);
    ASSERT_EQ(budget.category_bytes(memory_category::buffers), sum);
  }
  EXPECT_GT(refused, 0U) << "the limit was never reached, so nothing was tested";
}

}  // namespace
}  // namespace mxkv::runtime
