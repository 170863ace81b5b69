// The queue in every order of its atomic steps: no task is lost or seen twice, each producer's tasks come in
// its order, and a chain that is being linked is never taken for an empty queue.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <vector>

#include "runtime/pool/mpsc_queue.hpp"
#include "tests/schedule/interleaving.hpp"

namespace mxkv::testing {
namespace {

using runtime::pop_state;
using runtime::PopResult;

struct Numbered : runtime::MxTask {
  Numbered(std::size_t by, std::size_t at) : MxTask(nullptr), producer(by), number(at) {}
  std::size_t producer;
  std::size_t number;
};

/// Some producers, each pushing its tasks in order, and one consumer that looks a number of times.
struct QueueRun {
  QueueRun(std::size_t producers, std::size_t tasks_each) : next(producers, 0) {
    for (std::size_t producer = 0; producer < producers; ++producer) {
      for (std::size_t number = 0; number < tasks_each; ++number) {
        tasks.emplace_back(producer, number);
      }
      bodies.emplace_back([this, producer] {
        for (Numbered& task : tasks) {
          if (task.producer == producer) {
            queue.push(&task);
            ++pushed;
            Interleaving::point();
          }
        }
      });
    }
  }
  void add_consumer(int looks) {
    bodies.emplace_back([this, looks] {
      for (int i = 0; i < looks; ++i) {
        look();
        Interleaving::point();
      }
    });
  }
  void look() {
    const std::size_t there = pushed - popped;  // complete pushes that were not popped yet
    const PopResult result = queue.pop();
    if (result.state == pop_state::task) {
      const auto& task = static_cast<const Numbered&>(*result.task);
      EXPECT_EQ(task.number, next[task.producer]) << "producer " << task.producer;
      next[task.producer] = task.number + 1;
      ++popped;
    } else {
      EXPECT_EQ(result.task, nullptr);
      saw_linking += result.state == pop_state::linking ? 1 : 0;
      EXPECT_TRUE(result.state == pop_state::linking || there == 0) << "empty with a task in it";
    }
  }
  void run(Interleaving& interleaving) {
    interleaving.run(bodies);
    while (popped < tasks.size()) {
      const std::size_t before = popped;
      look();
      ASSERT_EQ(popped, before + 1) << "with all pushes done every look finds a task";
    }
    EXPECT_TRUE(queue.empty());
    EXPECT_EQ(queue.pop().state, pop_state::empty);
  }

  runtime::BasicMpscQueue<Interleaved> queue;
  std::deque<Numbered> tasks;
  std::vector<std::function<void()>> bodies;
  std::vector<std::size_t> next;
  std::size_t pushed = 0;
  std::size_t popped = 0;
  std::size_t saw_linking = 0;
};

TEST(MpscQueueSchedule, OneProducerAndItsConsumerInEveryOrder) {
  std::size_t linking = 0;
  const std::size_t runs = in_all_orders(100, [&linking](Interleaving& interleaving) {
    QueueRun run{1, 2};
    run.add_consumer(3);
    run.run(interleaving);
    linking += run.saw_linking;
  });
  EXPECT_GT(runs, 100U);
  EXPECT_GT(linking, 0U) << "the rare state was met";
}

TEST(MpscQueueSchedule, TwoProducersAndAConsumerWithFourPreemptions) {
  std::size_t linking = 0;
  const std::size_t runs = in_all_orders(4, [&linking](Interleaving& interleaving) {
    QueueRun run{2, 1};
    run.add_consumer(3);
    run.run(interleaving);
    linking += run.saw_linking;
  });
  EXPECT_GT(runs, 100U);
  EXPECT_GT(linking, 0U);
}

TEST(MpscQueueSchedule, ManyProducersInRandomOrders) {
  std::size_t linking = 0;
  in_random_orders(300, [&linking](Interleaving& interleaving) {
    QueueRun run{4, 6};
    run.add_consumer(30);
    run.run(interleaving);
    linking += run.saw_linking;
  });
  EXPECT_GT(linking, 0U);
}

TEST(MpscQueueSchedule, ATaskThatIsBeingLinkedHidesLaterOnesAndLosesNone) {
  std::deque<Numbered> tasks;
  tasks.emplace_back(0, 0);
  tasks.emplace_back(1, 0);
  runtime::BasicMpscQueue<Interleaved> queue;
  // Body 0 stops between exchange and link; body 1 pushes and looks; then body 0 links.
  std::vector<std::size_t> order{0, 1, 1, 0};
  std::size_t step = 0;
  Interleaving interleaving{[&order, &step](std::size_t count, std::size_t) {
    return step < order.size() ? std::min(order[step++], count - 1) : 0;
  }};
  interleaving.run({[&] { queue.push(&tasks[0]); },
                    [&] {
                      queue.push(&tasks[1]);
                      EXPECT_FALSE(queue.empty());
                      EXPECT_EQ(queue.pop().state, pop_state::linking);
                      EXPECT_EQ(queue.pop().state, pop_state::linking) << "busy, as often as one looks";
                    }});
  EXPECT_EQ(queue.pop().task, &tasks[0]) << "first exchanged, first out";
  EXPECT_EQ(queue.pop().task, &tasks[1]);
  EXPECT_EQ(queue.pop().state, pop_state::empty);
}

}  // namespace
}  // namespace mxkv::testing
