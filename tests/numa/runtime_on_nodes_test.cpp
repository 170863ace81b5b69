// The runtime on a machine with several NUMA nodes, one worker on each CPU, as inside.py runs it in the
// emulated ones: on which nodes the workers' allocated pages lie, that blocks freed on another node come
// home, and which workers are woken. Skipped where there is one node.
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "runtime/scheduler/runtime.hpp"
#include "runtime/topology/build.hpp"
#include "runtime/topology/order.hpp"

namespace mxkv::runtime {
namespace {

constexpr std::size_t kPageBytes = 4096;

/// Runs a function on its worker, once.
class CallTask final : public MxTask {
 public:
  CallTask(const TaskClass* task_class, const std::function<void(Worker&)>& call,
           std::atomic<bool>& done) noexcept
      : MxTask(task_class), call_(&call), done_(&done) {}
  step execute(Worker& worker) {
    (*call_)(worker);
    done_->store(true, std::memory_order_release);  // pairs with the wait
    return step::done;
  }

 private:
  const std::function<void(Worker&)>* call_;
  std::atomic<bool>* done_;
};

/// Notes the worker on which it ran.
class WhereTask final : public MxTask {
 public:
  WhereTask(const TaskClass* task_class, std::atomic<int>& where) noexcept
      : MxTask(task_class), where_(&where) {}
  step execute(Worker& worker) {
    where_->store(static_cast<int>(worker.id().value()), std::memory_order_release);  // pairs with the wait
    return step::done;
  }

 private:
  std::atomic<int>* where_;
};

bool wait_until(const std::function<bool()>& condition) {
  const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds{120};
  while (!condition() && std::chrono::steady_clock::now() < patience) {
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
  return condition();
}

struct RuntimeOnNodes : ::testing::Test {
  void SetUp() override {
    topology_ = std::make_shared<const Topology>(live_topology().value());
    if (topology_->nodes.size() < 2) {
      GTEST_SKIP() << "one NUMA node";
    }
    start();
  }

  void start() {
    RuntimeOptions options;
    options.topology = topology_;
    options.stealing = options.order_reach = stealing_scope::machine;
    options.spill_above = 0;  // rule 5 shows alone
    options.memory.limit_bytes = std::size_t{256} << 20U;
    options.memory.huge_pages = huge_pages_mode::off;  // move_pages tells of each page
    for (const ProcessingUnit& unit : topology_->pus) {
      options.workers.push_back({.pu = unit.pu, .node = unit.node});
    }
    for (const NumaNode& node : topology_->nodes) {
      options.os_nodes.push_back(node.os_index);
    }
    runtime_ = std::make_unique<Runtime>(options, clock_);
    ASSERT_TRUE(runtime_->start());
  }

  void on_worker(WorkerId id, const std::function<void(Worker&)>& call) {
    std::atomic<bool> done{false};
    auto* task = runtime_->create_outside<CallTask>(call, done);
    task->annotate(id);
    ASSERT_FALSE(runtime_->submit(task, id));
    ASSERT_TRUE(
        wait_until([&done] { return done.load(std::memory_order_acquire); }));  // pairs with execute()
  }
  /// The system's number of the node that a page is on.
  [[nodiscard]] static int node_of(void* address) {
    void* page = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(address) / kPageBytes * kPageBytes);
    int status = -1;
    EXPECT_EQ(syscall(SYS_move_pages, 0, 1UL, &page, nullptr, &status, 0), 0);
    return status;
  }
  [[nodiscard]] int os_node(WorkerId id) const {
    return static_cast<int>(topology_->nodes[runtime_->options().workers[id.index()].node.index()].os_index);
  }
  [[nodiscard]] WorkerId first_of(std::size_t node) const { return *steal_order_of(node).begin(); }
  [[nodiscard]] std::vector<WorkerId> steal_order_of(std::size_t node) const {
    std::vector<WorkerId> ids;
    for (std::uint16_t i = 0; i < runtime_->worker_count(); ++i) {
      if (runtime_->options().workers[i].node.index() == node) {
        ids.push_back(WorkerId{i});
      }
    }
    return ids;
  }

  SystemClock clock_;
  std::shared_ptr<const Topology> topology_;
  std::unique_ptr<Runtime> runtime_;
};

TEST_F(RuntimeOnNodes, PagesOfEachWorkersArenasLieOnItsNode) {
  constexpr int kBlocks = 300;
  for (std::uint16_t i = 0; i < runtime_->worker_count(); ++i) {
    const WorkerId id{i};
    on_worker(id, [&](Worker& worker) {
      int far = 0;
      for (int n = 0; n < kBlocks; ++n) {
        for (void* block : {worker.items().allocate(2000), worker.nodes().allocate(1024),
                            worker.allocate_block(task_block::bytes_640)}) {
          ASSERT_NE(block, nullptr);
          *static_cast<char*>(block) = 'x';
          far += node_of(block) == os_node(id) ? 0 : 1;
        }
      }
      EXPECT_EQ(far, 0) << "of " << 3 * kBlocks << " blocks of worker " << i;
    });
  }
}

TEST_F(RuntimeOnNodes, BlocksFreedOnAnotherNodeComeHomeAndServeTheirNodeAgain) {
  constexpr std::size_t kBlocks = 2000;
  constexpr std::size_t kBytes = 3000;
  const WorkerId home = first_of(0);
  const WorkerId away = first_of(topology_->nodes.size() - 1);
  std::vector<void*> blocks;
  on_worker(home, [&](Worker& worker) {
    for (std::size_t i = 0; i < kBlocks; ++i) {
      blocks.push_back(worker.items().allocate(kBytes));
      *static_cast<char*>(blocks.back()) = 'x';
    }
  });
  on_worker(away, [&](Worker& worker) {
    for (void* block : blocks) {
      worker.items().release(block);
    }
    EXPECT_EQ(worker.items().stats().live_bytes, 0U) << "they are not this node's";
  });
  // Bins past their size wake their owner, and a worker that parks sends the rest home.
  ValueHeap& heap = runtime_->worker(home).items();
  EXPECT_TRUE(wait_until([&heap] { return heap.stats().collected == kBlocks; })) << heap.stats().collected;
  EXPECT_EQ(heap.stats().live_bytes, 0U);
  on_worker(away, [&](Worker& worker) {
    void* own = worker.items().allocate(kBytes);
    *static_cast<char*>(own) = 'x';
    EXPECT_EQ(node_of(own), os_node(away)) << "the other node's memory is not taken";
  });
  const std::set<void*> old(blocks.begin(), blocks.end());
  on_worker(home, [&](Worker& worker) {
    std::size_t again = 0;
    for (std::size_t i = 0; i < kBlocks; ++i) {
      void* block = worker.items().allocate(kBytes);
      *static_cast<char*>(block) = 'y';
      again += old.count(block);
      EXPECT_EQ(node_of(block), os_node(home));
    }
    EXPECT_GT(again, kBlocks / 2);
  });
}

// Rule 4 of LAS: a worker that has nothing takes a deferred task of another group, on whichever node.
TEST_F(RuntimeOnNodes, DeferredTasksOfARequestAreTakenByWorkersOfAllNodes) {
  const std::size_t nodes = topology_->nodes.size();
  std::vector<std::atomic<int>> ran(nodes);
  const auto all_nodes = [&ran] {
    return std::ranges::all_of(ran, [](const std::atomic<int>& count) { return count.load() > 0; });
  };
  const std::size_t tasks = 4 * runtime_->worker_count();
  std::atomic<std::size_t> ended{0};
  const std::function<void(Worker&)> stay = [&](Worker& worker) {
    ++ran[runtime_->options().workers[worker.id().index()].node.index()];
    EXPECT_TRUE(wait_until(all_nodes));
    ++ended;
  };
  std::atomic<bool> done{false};
  on_worker(first_of(0), [&](Worker& worker) {
    const RequestId request = runtime_->new_request();
    for (std::size_t i = 0; i < tasks; ++i) {
      auto* task = worker.create<CallTask>(stay, done);
      task->annotate(deferred{request});
      worker.spawn(task);
    }
  });
  ASSERT_TRUE(wait_until([&] { return ended == tasks; }));
  std::uint64_t far = 0;
  for (std::uint16_t i = 0; i < runtime_->worker_count(); ++i) {
    far += runtime_->worker(WorkerId{i}).counters().refills[3].load();
  }
  EXPECT_GE(far, nodes - 1) << "of another group";
}

// Rule 5 of LAS: a worker that has nothing takes an immediate task of another group of its node, and of no other node.
TEST_F(RuntimeOnNodes, ImmediateTasksAreTakenByWorkersOfOtherGroupsOnTheirNode) {
  runtime_.reset();
  Topology apart = *topology_;  // no two CPUs share a cache
  apart.core_groups.clear();
  for (ProcessingUnit& unit : apart.pus) {
    unit.group = CoreGroupId{static_cast<std::uint16_t>(apart.core_groups.size())};
    apart.core_groups.push_back({.group = unit.group, .node = unit.node, .pus = {unit.pu}});
  }
  topology_ = std::make_shared<const Topology>(std::move(apart));
  start();
  for (std::size_t node = 0; node < topology_->nodes.size(); ++node) {
    const std::vector<WorkerId> mates = steal_order_of(node);
    std::vector<std::atomic<int>> ran(runtime_->worker_count());
    const auto all_mates = [&ran, &mates] {
      return std::ranges::all_of(mates, [&ran](WorkerId id) { return ran[id.index()].load() > 0; });
    };
    const std::size_t tasks = 8 * mates.size();
    std::atomic<std::size_t> ended{0};
    const std::function<void(Worker&)> stay = [&](Worker& worker) {
      ++ran[worker.id().index()];
      EXPECT_TRUE(wait_until(all_mates));
      ++ended;
    };
    std::atomic<bool> done{false};
    on_worker(mates.front(), [&](Worker& worker) {
      for (std::size_t i = 0; i < tasks; ++i) {
        auto* task = worker.create<CallTask>(stay, done);
        task->annotate(locality::immediate);
        worker.spawn(task);
      }
    });
    ASSERT_TRUE(wait_until([&] { return ended == tasks; }));
    std::size_t by_mates = 0;
    for (const WorkerId id : mates) {
      by_mates += runtime_->worker(id).counters().refills[4].load();
      EXPECT_EQ(runtime_->worker(id).counters().refills[1].load(), 0U) << "there is nobody in its group";
    }
    EXPECT_GE(by_mates, mates.size() - 1) << "of other groups";
    for (std::size_t i = 0; i < ran.size(); ++i) {
      const bool near = runtime_->options().workers[i].node.index() == node;
      EXPECT_EQ(ran[i].load() > 0, near) << "worker " << i;
    }
  }
}

TEST_F(RuntimeOnNodes, OfSleepersTheNearestIsWokenForATaskThatWaits) {
  for (std::size_t node = 0; node < topology_->nodes.size(); ++node) {
    const WorkerId id = first_of(node);
    ASSERT_TRUE(wait_until([this] { return runtime_->parked_workers() == runtime_->worker_count(); }));
    std::atomic<int> where{-1};
    on_worker(id, [&](Worker& worker) {
      auto* task = worker.create<WhereTask>(where);
      task->annotate(locality::immediate);
      worker.spawn(task);
      // This worker is busy until another worker has done it.
      EXPECT_TRUE(wait_until(
          [&where] { return where.load(std::memory_order_acquire) >= 0; }));  // pairs with execute()
    });
    const std::vector<WorkerId> order = wake_order(*topology_, runtime_->options().workers, id);
    EXPECT_EQ(where.load(), static_cast<int>(order.front().value())) << "spawned by worker " << id.value();
    EXPECT_EQ(os_node(WorkerId{static_cast<std::uint16_t>(where.load())}), os_node(id));
  }
}

}  // namespace
}  // namespace mxkv::runtime
