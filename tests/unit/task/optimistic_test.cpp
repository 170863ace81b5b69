// The version word: which events invalidate a read, which task gets the latch, and that no reader accepts
// torn words.
#include "runtime/synchronization/optimistic.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <type_traits>
#include <vector>

#include "runtime/base/random.hpp"
#include "tests/unit/scheduler/machine.hpp"

namespace mxkv::runtime {
namespace {

using Object = testing::Words<14>;

WriteLatch latch_now(Object& object) {
  return WriteLatch::acquire(object, 1);
}

TEST(OptimisticRead, HoldsWhileNobodyWrites) {
  const Object object{PoolId{0}, primitive::optimistic_latch};
  const OptimisticRead read{object};
  EXPECT_FALSE(read.locked());
  EXPECT_TRUE(read.valid());
  EXPECT_TRUE((OptimisticRead{object, read.version()}.valid())) << "a later stage goes on from it";
}

TEST(OptimisticRead, IsInvalidFromTheMomentAWriterHasTheLatchAndEverAfter) {
  Object object{PoolId{0}, primitive::optimistic_latch};
  const OptimisticRead before{object};
  {
    const WriteLatch latch = latch_now(object);
    ASSERT_TRUE(latch);
    EXPECT_FALSE(before.valid());
    EXPECT_TRUE(OptimisticRead{object}.locked());
  }
  EXPECT_FALSE(before.valid()) << "released, but not the version that was read";
  const OptimisticRead after{object};
  EXPECT_FALSE(after.locked());
  EXPECT_TRUE(after.valid());
  EXPECT_EQ(after.version(), before.version() + 2);
}

TEST(WriteLatch, IsTakenFromTheVersionThatWasReadOnly) {
  Object object{PoolId{0}, primitive::optimistic_latch};
  const std::uint64_t seen = OptimisticRead{object}.version();
  latch_now(object).release();
  EXPECT_FALSE(WriteLatch::upgrade(object, seen));
  EXPECT_FALSE(OptimisticRead{object}.locked()) << "a failed upgrade leaves no trace";
  EXPECT_TRUE(WriteLatch::upgrade(object, seen + 2));
}

TEST(WriteLatch, ExcludesOtherWritersAndGivesUpAfterItsTries) {
  Object object{PoolId{0}, primitive::optimistic_latch};
  WriteLatch latch = latch_now(object);
  EXPECT_FALSE(WriteLatch::acquire(object, 100));
  EXPECT_FALSE(WriteLatch::upgrade(object, 0));
  latch.release();
  EXPECT_FALSE(latch);
  EXPECT_TRUE(WriteLatch::acquire(object, 1));
}

TEST(WriteLatch, IsReleasedOnceHoweverItIsMoved) {
  static_assert(!std::is_copy_constructible_v<WriteLatch> && !std::is_move_assignable_v<WriteLatch>);
  Object object{PoolId{0}, primitive::optimistic_latch};
  {
    WriteLatch latch = latch_now(object);
    const WriteLatch moved{std::move(latch)};
    EXPECT_FALSE(latch);  // NOLINT(bugprone-use-after-move): the state after the move is the subject
    EXPECT_TRUE(moved);
    EXPECT_TRUE(OptimisticRead{object}.locked());
  }
  EXPECT_EQ(OptimisticRead{object}.version(), 2U);
}

// Writers keep all words equal; a reader that accepts two different ones accepted a torn read. The words lie
// on two lines, and writers store them in changing order, so that every mixture can be met.
TEST(OptimisticRead, NoAcceptedReadIsTorn) {
  constexpr std::size_t kWriters = 2;
  constexpr std::uint64_t kWrites = 200'000;
  constexpr std::uint64_t kReads = 100'000;
  Object object{PoolId{0}, primitive::optimistic_latch};
  std::atomic<std::size_t> writing{kWriters};
  std::vector<std::jthread> writers;
  for (std::size_t w = 0; w < kWriters; ++w) {
    writers.emplace_back([&object, &writing, w] {
      Random random{w};
      for (std::uint64_t done = 0; done < kWrites;) {
        if (const WriteLatch latch = WriteLatch::acquire(object, 8)) {
          const std::uint64_t value = object.words[0].load() + 1;
          const std::uint64_t start = random.below(std::size(object.words));
          for (std::size_t i = 0; i < std::size(object.words); ++i) {
            object.words[(start + i) % std::size(object.words)].store(value);
          }
          ++done;
        } else {
          std::this_thread::yield();
        }
      }
      writing.fetch_sub(1);
    });
  }
  std::uint64_t torn = 0;
  std::uint64_t went_back = 0;
  std::uint64_t newest = 0;
  for (std::uint64_t accepted = 0; accepted < kReads || writing.load() != 0;) {
    const OptimisticRead read{object};
    std::uint64_t values[std::size(object.words)];
    for (std::size_t i = 0; i < std::size(values); ++i) {
      values[i] = object.words[i].load();
    }
    if (read.locked() || !read.valid()) {
      std::this_thread::yield();
      continue;
    }
    ++accepted;
    for (const std::uint64_t value : values) {
      torn += value != values[0] ? 1 : 0;
    }
    went_back += values[0] < newest ? 1 : 0;
    newest = values[0];
  }
  EXPECT_EQ(torn, 0U);
  EXPECT_EQ(went_back, 0U);
  writers.clear();
  EXPECT_EQ(object.words[0].load(), kWriters * kWrites) << "no write was lost";
}

}  // namespace
}  // namespace mxkv::runtime
