// Whether all memory came back once a world ended: no block of nodes, fences, items or tasks is live, no pin
// is held, nothing is retired, and the budget is charged for nothing but the tasks' arenas.
#pragma once

#include <string>

#include "index/tree.hpp"
#include "tests/simulation/complaints.hpp"
#include "tests/unit/index/tree_drain.hpp"

namespace mxkv::simulation {

inline void check_task_blocks(runtime::Runtime& runtime, Complaints& complaints) {
  for (std::size_t i = 0; i < runtime::kTaskBlocks; ++i) {
    const auto block = static_cast<runtime::task_block>(i);
    const std::size_t out = runtime.task_memory().blocks_out(block);
    std::size_t free = 0;
    for (std::size_t w = 0; w < runtime.worker_count(); ++w) {
      free += runtime.worker(runtime::WorkerId{static_cast<std::uint16_t>(w)}).task_heap().free_blocks(block);
    }
    if (out != free) {
      complaints.add("of task blocks of " + std::to_string(runtime::task_block_bytes(block)) + " bytes " +
                     std::to_string(out) + " are with the workers, and " + std::to_string(free) +
                     " are free");
    }
  }
}

inline void check_pins(runtime::Runtime& runtime, Complaints& complaints) {
  runtime::EpochManager& epochs = runtime.epochs();
  for (std::size_t i = 0; i < runtime.worker_count(); ++i) {
    epochs.leave(runtime::WorkerId{static_cast<std::uint16_t>(i)});
  }
  complaints.unless(epochs.try_advance(), "a pin holds back the epoch");
  complaints.unless(epochs.horizon() == epochs.current(), "a pin was never left");
}

inline void check_budget(runtime::Runtime& runtime, Complaints& complaints) {
  for (std::size_t i = 0; i < runtime.worker_count(); ++i) {
    runtime::Worker& worker = runtime.worker(runtime::WorkerId{static_cast<std::uint16_t>(i)});
    worker.items().trim();
    worker.nodes().trim();
    worker.account().flush();
    complaints.unless(worker.retired_objects() == 0, "retired objects are left");
  }
  const runtime::MemoryBudget& budget = runtime.budget();
  for (const auto category :
       {runtime::memory_category::index, runtime::memory_category::items, runtime::memory_category::retired,
        runtime::memory_category::output, runtime::memory_category::buffers, runtime::memory_category::ghosts,
        runtime::memory_category::other}) {
    if (budget.category_bytes(category) != 0) {
      complaints.add("category " + std::to_string(static_cast<int>(category)) + " is charged with " +
                     std::to_string(budget.category_bytes(category)) + " bytes");
    }
  }
  complaints.unless(budget.used_bytes() == budget.category_bytes(runtime::memory_category::tasks),
                    "the budget is charged for memory that nobody has");
}

/// Of a runtime that is drained; takes the tree apart first.
template <class Traits>
void check_memory(runtime::Runtime& runtime, index::Tree<Traits>& tree, Complaints& complaints) {
  index::testing::drain(tree, runtime);
  const index::testing::LiveBytes left = index::testing::live_bytes(runtime);
  complaints.unless(left.nodes == 0, "nodes or fences leaked");
  complaints.unless(left.items == 0, "items leaked");
  check_task_blocks(runtime, complaints);
  check_pins(runtime, complaints);
  check_budget(runtime, complaints);
}

}  // namespace mxkv::simulation
