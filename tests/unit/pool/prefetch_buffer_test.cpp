// The prefetch buffer: order, window, and when it asks for which task's lines.
#include "runtime/pool/prefetch_buffer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <vector>

#include "runtime/base/random.hpp"

namespace mxkv::runtime {
namespace {

struct alignas(kCacheLineBytes) AlignedTask : MxTask {
  AlignedTask() : MxTask(nullptr) {}
};

/// Asks for nothing and remembers the tasks whose lines it should have asked for.
struct Recorder {
  static inline thread_local std::vector<const MxTask*> asked;
  static void ask(const MxTask& task) { asked.push_back(&task); }
};

struct PrefetchBufferTest : ::testing::Test {
  PrefetchBufferTest() { Recorder::asked.clear(); }
  [[nodiscard]] std::vector<std::size_t> asked() const {
    std::vector<std::size_t> indices;
    for (const MxTask* task : Recorder::asked) {
      indices.push_back(static_cast<std::size_t>(static_cast<const AlignedTask*>(task) - tasks.data()));
    }
    return indices;
  }
  std::vector<AlignedTask> tasks = std::vector<AlignedTask>(600);
};

using Buffer = BasicPrefetchBuffer<Recorder>;
using Indices = std::vector<std::size_t>;

TEST_F(PrefetchBufferTest, IsFirstInFirstOutAndKeepsThePoolOfEachTask) {
  Buffer buffer{PrefetchOptions{}};
  for (std::size_t round = 0; round < 4; ++round) {
    for (std::size_t i = 0; i < Buffer::kCapacity - 1; ++i) {
      buffer.push(&tasks[i], i % (Buffer::kMaxPools + 1));
    }
    EXPECT_EQ(buffer.size(), Buffer::kCapacity - 1);
    for (std::size_t i = 0; i < Buffer::kCapacity - 1; ++i) {
      const BufferedTask next = buffer.pop();
      ASSERT_EQ(next.task, &tasks[i]);
      ASSERT_EQ(next.pool, i % (Buffer::kMaxPools + 1));
    }
    EXPECT_TRUE(buffer.empty());
  }
}

TEST_F(PrefetchBufferTest, HasRoomUpToItsWindowAndTakesMoreWithout) {
  Buffer buffer{PrefetchOptions{.window = 3}};
  EXPECT_EQ(buffer.room(), 3U);
  for (std::size_t i = 0; i < 5; ++i) {
    buffer.push(&tasks[i]);
  }
  EXPECT_EQ(buffer.room(), 0U);
  EXPECT_EQ(buffer.size(), 5U);
  static_cast<void>(buffer.pop());
  static_cast<void>(buffer.pop());
  EXPECT_EQ(buffer.room(), 0U);
  static_cast<void>(buffer.pop());
  EXPECT_EQ(buffer.room(), 1U);
}

TEST_F(PrefetchBufferTest, AtSpawnAsksForEachTaskWhenItEnters) {
  Buffer buffer{PrefetchOptions{.mode = prefetch_mode::at_spawn}};
  buffer.push(&tasks[0]);
  buffer.push(&tasks[1]);
  EXPECT_EQ(asked(), (Indices{0, 1}));
  static_cast<void>(buffer.pop());
  static_cast<void>(buffer.pop());
  EXPECT_EQ(asked(), (Indices{0, 1})) << "and never again";
}

TEST_F(PrefetchBufferTest, OffAsksForNothing) {
  Buffer buffer{PrefetchOptions{.mode = prefetch_mode::off}};
  buffer.push(&tasks[0]);
  buffer.push(&tasks[1]);
  static_cast<void>(buffer.pop());
  static_cast<void>(buffer.pop());
  EXPECT_TRUE(asked().empty());
}

TEST_F(PrefetchBufferTest, ByDistanceAsksForTheTasksThatFollowTheOneThatIsExecutedNow) {
  Buffer buffer{PrefetchOptions{.mode = prefetch_mode::distance, .distance = 2}};
  for (std::size_t i = 0; i < 5; ++i) {
    buffer.push(&tasks[i]);
  }
  EXPECT_TRUE(asked().empty()) << "nothing until something is executed meanwhile";
  static_cast<void>(buffer.pop());
  EXPECT_EQ(asked(), (Indices{1, 2}));
  static_cast<void>(buffer.pop());
  EXPECT_EQ(asked(), (Indices{1, 2, 3}));
  static_cast<void>(buffer.pop());
  static_cast<void>(buffer.pop());
  static_cast<void>(buffer.pop());
  EXPECT_EQ(asked(), (Indices{1, 2, 3, 4}));
}

// The cursor rule: looking at head + distance alone skips tasks that entered while the ring was shorter.
TEST_F(PrefetchBufferTest, ByDistanceDoesNotSkipTasksThatEnteredAShortRing) {
  Buffer buffer{PrefetchOptions{.mode = prefetch_mode::distance, .distance = 4}};
  buffer.push(&tasks[0]);
  buffer.push(&tasks[1]);
  static_cast<void>(buffer.pop());
  EXPECT_EQ(asked(), (Indices{1}));
  for (std::size_t i = 2; i < 8; ++i) {
    buffer.push(&tasks[i]);
  }
  static_cast<void>(buffer.pop());
  EXPECT_EQ(asked(), (Indices{1, 2, 3, 4, 5}));
}

TEST_F(PrefetchBufferTest, ByDistanceAsksForEachTaskOnceUnlessItIsExecutedFirst) {
  Random random{5};
  for (const std::uint32_t distance : {1U, 3U, 8U, 64U}) {
    Recorder::asked.clear();
    Buffer buffer{PrefetchOptions{.mode = prefetch_mode::distance, .distance = distance, .window = 64}};
    std::deque<std::size_t> waiting;
    std::size_t entered = 0;
    while (entered < tasks.size() || !waiting.empty()) {
      if (entered < tasks.size() && (waiting.empty() || (buffer.room() > 0 && random.below(5) < 3))) {
        buffer.push(&tasks[entered]);
        waiting.push_back(entered++);
        continue;
      }
      const std::size_t head = waiting.front();
      waiting.pop_front();
      ASSERT_EQ(buffer.pop().task, &tasks[head]);
      // All of the next `distance` tasks are on their way now, none of the later ones.
      const Indices so_far = asked();
      for (std::size_t i = 0; i < waiting.size(); ++i) {
        ASSERT_EQ(std::count(so_far.begin(), so_far.end(), waiting[i]), i < distance ? 1 : 0)
            << "distance " << distance << ", " << i << " ahead";
      }
    }
    Indices once = asked();
    std::sort(once.begin(), once.end());
    EXPECT_EQ(std::adjacent_find(once.begin(), once.end()), once.end()) << "no task is asked for twice";
  }
}

// As a loop over places does it, compared with two queues: tasks that had their turn, and tasks that wait for
// it.
TEST_F(PrefetchBufferTest, TurnsInPlaceGoToAllInTheirOrder) {
  Random random{7};
  for (unsigned round = 0; round < 200; ++round) {
    Buffer buffer{PrefetchOptions{.mode = prefetch_mode::at_spawn}};
    std::deque<std::size_t> waiting;
    std::deque<std::size_t> had_turn;
    std::size_t entered = 0;
    const auto enter = [&] {
      buffer.push(&tasks[entered], entered % 3);
      waiting.push_back(entered++);
    };
    while (entered < 30) {
      enter();
      std::uint32_t place = buffer.begin_turns();
      for (std::uint64_t turns = random.below(60); turns > 0; --turns, ++place) {
        if (place == buffer.end()) {
          ASSERT_TRUE(waiting.empty());
          waiting.swap(had_turn);
          place = buffer.begin();
          if (waiting.empty()) {
            break;
          }
        }
        const std::size_t now = waiting.front();
        waiting.pop_front();
        ASSERT_EQ(buffer.at(place).task, &tasks[now]);
        ASSERT_EQ(buffer.at(place).pool, now % 3);
        Recorder::asked.clear();
        switch (random.below(4)) {
          case 0:
            buffer.give_place(place, &tasks[entered - entered % 3]);
            buffer.had_turn(place);
            had_turn.push_back(entered - entered % 3);
            ASSERT_EQ(asked(), Indices{had_turn.back()});
            break;
          case 1:
            buffer.take_out(place);
            place = buffer.begin() - 1;
            waiting.insert(waiting.end(), had_turn.begin(), had_turn.end());
            had_turn.clear();
            ASSERT_EQ(asked(), Indices{});
            break;
          case 2:
            if (entered < tasks.size()) {
              enter();
            }
            [[fallthrough]];
          default:
            Recorder::asked.clear();
            buffer.had_turn(place);
            had_turn.push_back(now);
            ASSERT_EQ(asked(), Indices{now});
        }
      }
      buffer.turn_to(place);
      waiting.insert(waiting.end(), had_turn.begin(), had_turn.end());
      had_turn.clear();
      ASSERT_EQ(buffer.size(), waiting.size());
    }
    for (const std::size_t next : waiting) {
      ASSERT_EQ(buffer.pop().task, &tasks[next]);
    }
  }
}

// Whatever the number of tasks: at each turn the lines of the next tasks that are near enough were asked for
// since their own turn, once, and no other task's lines.
TEST_F(PrefetchBufferTest, TurnsInPlaceAskByDistanceForEachTaskOnceATurn) {
  for (const std::uint32_t distance : {1U, 3U, 8U, 64U}) {
    for (const std::size_t count : {1U, 2U, 3U, 4U, 8U, 9U, 40U}) {
      Recorder::asked.clear();
      Buffer buffer{PrefetchOptions{.mode = prefetch_mode::distance, .distance = distance, .window = 64}};
      for (std::size_t i = 0; i < count; ++i) {
        buffer.push(&tasks[i]);
      }
      std::vector<int> times(count);
      const auto note = [&] {
        for (const std::size_t task : asked()) {
          ++times[task];
        }
        Recorder::asked.clear();
      };
      std::uint32_t place = buffer.begin_turns();
      for (std::size_t turn = 0; turn < 5 * count; ++turn) {
        note();
        for (std::size_t ahead = 1; ahead < count; ++ahead) {
          ASSERT_EQ(times[(turn + ahead) % count], ahead < distance ? 1 : 0)
              << "distance " << distance << ", " << count << " tasks, turn " << turn << ", " << ahead
              << " ahead";
        }
        times[turn % count] = 0;
        buffer.had_turn(place);
        if (turn % 7 == 6) {
          buffer.turn_to(place + 1);
          place = buffer.begin_turns();
        } else if (++place == buffer.end()) {
          place = buffer.begin();
        }
      }
    }
  }
}

TEST_F(PrefetchBufferTest, TurnsInPlaceAskForNothingWhereThatIsOff) {
  Buffer buffer{PrefetchOptions{.mode = prefetch_mode::off}};
  buffer.push(&tasks[0]);
  buffer.push(&tasks[1]);
  const std::uint32_t place = buffer.begin_turns();
  buffer.had_turn(place);
  buffer.give_place(place + 1, &tasks[2]);
  buffer.had_turn(place + 1);
  buffer.take_out(place);
  EXPECT_TRUE(asked().empty());
}

TEST(PrefetchBufferDeathTest, RefusesAWindowThatLeavesNoRoomForPools) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(PrefetchBuffer{PrefetchOptions{.window = 257}}, "the window fits the ring");
  EXPECT_DEATH(PrefetchBuffer{PrefetchOptions{.window = 0}}, "the window fits the ring");
}

}  // namespace
}  // namespace mxkv::runtime
