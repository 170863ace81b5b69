// Immediate and deferred tasks under real threads: more workers than cores, on two nodes, that park at every
// chance. Each request is a tree of tasks. Each task writes plain words that its children read, so that
// ThreadSanitizer sees whether a queue hands a task over together with the writes before it.
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <memory>

#include "runtime/topology/build.hpp"
#include "tests/unit/scheduler/machine.hpp"

namespace mxkv::runtime {
namespace {

constexpr unsigned kDepth = 7;
constexpr unsigned kChildren = 3;
constexpr std::uint64_t kRequests = 30;
constexpr std::uint64_t kTasksOfARequest = 3280;  // 1 + 3 + ... + 3^7

struct Forest {
  std::atomic<std::uint64_t> ran{0};
  std::atomic<std::uint64_t> wrong{0};
  std::latch done{static_cast<std::ptrdiff_t>(kRequests * kTasksOfARequest)};
};

class Branch final : public MxTask {
 public:
  Branch(const TaskClass* task_class, Forest& forest, RequestId of, unsigned depth)
      : MxTask(task_class), forest_(&forest), request_(of), depth_(depth), check_(of.value() * 100 + depth) {}

  step execute(Worker& worker) {
    forest_->ran.fetch_add(1, std::memory_order_relaxed);
    forest_->wrong.fetch_add(check_ == request_.value() * 100 + depth_ ? 0 : 1, std::memory_order_relaxed);
    for (unsigned child = 0; depth_ > 0 && child < kChildren; ++child) {
      auto* task = worker.create<Branch>(*forest_, request_, depth_ - 1);
      if (child == 0) {
        task->annotate(deferred{request_});
      } else if (child == 1) {
        task->annotate(locality::immediate);
      }
      worker.spawn(task);
    }
    forest_->done.count_down();
    return step::done;
  }
  void discard(Worker& /*worker*/) { forest_->wrong.fetch_add(1); }

 private:
  Forest* forest_;
  RequestId request_;
  unsigned depth_;
  std::uint64_t check_;
};

struct LocalityStress : ::testing::TestWithParam<task_order> {};

TEST_P(LocalityStress, EveryTaskOfEveryRequestRunsOnce) {
  RuntimeOptions options = testing::unpinned(0);
  options.topology = std::make_shared<const Topology>(
      topology_from_synthetic("Package:2 [NUMANode] L3Cache:2 Core:1 PU:1").value());
  for (const ProcessingUnit& unit : options.topology->pus) {
    options.workers.push_back({.pu = unit.pu, .node = unit.node, .pinned = false});
  }
  options.os_nodes = {0, 0};
  options.order = GetParam();
  options.order_reach = stealing_scope::machine;
  options.spin_rounds = 1;
  options.batch_tasks = 8;
  Forest forest;
  const SystemClock clock;
  Runtime runtime{options, clock};
  ASSERT_TRUE(runtime.start().ok());
  for (std::uint64_t i = 0; i < kRequests; ++i) {
    const RequestId request = runtime.new_request();
    auto* root = runtime.create_outside<Branch>(forest, request, kDepth);
    root->annotate(deferred{request});
    ASSERT_FALSE(runtime.submit(root, WorkerId{static_cast<std::uint16_t>(i % 4)}).has_value());
  }
  forest.done.wait();
  runtime.stop();
  EXPECT_EQ(forest.ran.load(), kRequests * kTasksOfARequest);
  EXPECT_EQ(forest.wrong.load(), 0U);
}

INSTANTIATE_TEST_SUITE_P(Orders, LocalityStress, ::testing::Values(task_order::las, task_order::nls));

}  // namespace
}  // namespace mxkv::runtime
