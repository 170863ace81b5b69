// Tasks and task lists: layout, annotations, order.
#include "runtime/task/task.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <vector>

#include "tests/unit/scheduler/machine.hpp"

namespace mxkv::runtime {
namespace {

constexpr TaskClass kNoClass{"none", nullptr, nullptr, nullptr, nullptr};

TEST(MxTask, LeavesThreeWordsOfItsCacheLineToALookUp) {
  static_assert(sizeof(MxTask) + 3 * sizeof(std::uint64_t) == kCacheLineBytes);
  static_assert(sizeof(Annotations) == sizeof(std::uint64_t));
  static_assert(sizeof(TaggedPointer) == sizeof(void*));
  SUCCEED();
}

TEST(MxTask, DemandsNothingUntilItIsAnnotated) {
  const MxTask task{&kNoClass};
  EXPECT_FALSE(task.object());
  EXPECT_EQ(task.object().synchronization(), primitive::none);
  EXPECT_EQ(task.annotations().access, access::readonly);
  EXPECT_EQ(task.annotations().priority, priority::normal);
  EXPECT_EQ(task.annotations().line_count, 0);
  EXPECT_EQ(task.annotations().pin_slot, Annotations::kNoPin);
  EXPECT_EQ(task.annotations().target, Annotations::kAnyWorker);
  EXPECT_EQ(&task.task_class(), &kNoClass);
}

TEST(MxTask, KeepsEachAnnotationWithoutTouchingTheOthers) {
  testing::Words<> words{PoolId{7}, primitive::optimistic_latch};
  MxTask task{&kNoClass};
  task.annotations().block = 3;
  task.annotations().stage = 9;
  task.annotate(priority::high);
  task.annotate(access::write);
  task.annotate(WorkerId{5});
  task.annotate_lines(words.tagged(2), 4, 3);
  task.see_version(88);
  EXPECT_EQ(task.annotations().priority, priority::high);
  EXPECT_EQ(task.annotations().access, access::write);
  EXPECT_EQ(task.annotations().target, 5);
  EXPECT_EQ(task.object(), words.tagged(2));
  EXPECT_EQ(task.annotations().first_line, 4);
  EXPECT_EQ(task.annotations().line_count, 3);
  EXPECT_EQ(task.annotations().block, 3);
  EXPECT_EQ(task.annotations().stage, 9);
  EXPECT_EQ(task.seen_version(), 88U);
  task.annotate(access::readonly);
  task.annotate(priority::low);
  EXPECT_EQ(task.annotations().access, access::readonly);
  EXPECT_EQ(task.annotations().priority, priority::low);
  EXPECT_EQ(task.annotations().block, 3);
}

TEST(MxTask, TurnsBytesIntoWholeLinesFromTheFirst) {
  testing::Words<> words{PoolId{0}, primitive::none};
  MxTask task{&kNoClass};
  const std::pair<std::size_t, int> cases[] = {{0, 0}, {1, 1}, {64, 1}, {65, 2}, {1024, 16}};
  for (const auto& [bytes, lines] : cases) {
    task.annotate(words.tagged(), bytes);
    EXPECT_EQ(task.annotations().first_line, 0);
    EXPECT_EQ(task.annotations().line_count, lines) << bytes << " bytes";
  }
}

TEST(MxTask, CutsAnnotationsThatNoCacheCouldHold) {
  testing::Words<> words{PoolId{0}, primitive::none};
  MxTask task{&kNoClass};
  task.annotate(words.tagged(), std::size_t{256} * kCacheLineBytes);
  EXPECT_EQ(task.annotations().line_count, 255) << "256 would wrap around to none";
}

TEST(MxTask, MayAnnotateMemoryThatIsNotThere) {
  MxTask task{&kNoClass};
  task.prefetch();
  task.annotate_lines(TaggedPointer::unsynchronized(reinterpret_cast<void*>(0x7FFF'FFFF'0000)), 9, 200);
  task.prefetch();
  EXPECT_EQ(task.object().first_line(), reinterpret_cast<std::byte*>(0x7FFF'FFFF'0000));
}

TEST(TaskList, IsFirstInFirstOutAndUsableAfterItRanEmpty) {
  std::deque<MxTask> tasks;
  for (int i = 0; i < 5; ++i) {
    tasks.emplace_back(&kNoClass);
  }
  TaskList list;
  EXPECT_TRUE(list.empty());
  EXPECT_EQ(list.pop_front(), nullptr);
  for (int round = 0; round < 2; ++round) {
    for (MxTask& task : tasks) {
      list.push_back(&task);
    }
    for (MxTask& task : tasks) {
      EXPECT_FALSE(list.empty());
      EXPECT_EQ(list.pop_front(), &task);
    }
    EXPECT_TRUE(list.empty());
    EXPECT_EQ(list.pop_front(), nullptr);
  }
}

TEST(TaskList, TakesATaskBackWhileOthersWait) {
  MxTask first{&kNoClass};
  MxTask second{&kNoClass};
  TaskList list;
  list.push_back(&first);
  list.push_back(&second);
  EXPECT_EQ(list.pop_front(), &first);
  list.push_back(&first);
  EXPECT_EQ(list.pop_front(), &second);
  EXPECT_EQ(list.pop_front(), &first);
  EXPECT_TRUE(list.empty());
}

}  // namespace
}  // namespace mxkv::runtime
