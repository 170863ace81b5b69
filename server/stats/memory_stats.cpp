#include "server/stats/memory_stats.hpp"

#include <array>
#include <map>
#include <string>
#include <utility>

#include "runtime/memory/size_classes.hpp"
#include "runtime/scheduler/runtime.hpp"
#include "server/stats/stat_text.hpp"
#include "server/store/store.hpp"

namespace mxkv::server {

namespace {

using runtime::memory_category;
using runtime::ValueHeapStats;

constexpr std::array kCategoryNames{
    std::pair{memory_category::index, "index"},     std::pair{memory_category::items, "items"},
    std::pair{memory_category::tasks, "tasks"},     std::pair{memory_category::output, "output"},
    std::pair{memory_category::buffers, "buffers"}, std::pair{memory_category::referenced, "referenced"},
};

/// The heaps of all workers of one node.
struct NodeSum {
  ValueHeapStats items;
  ValueHeapStats nodes;
};

void add(ValueHeapStats& sum, const ValueHeapStats& one) {
  sum.live_bytes += one.live_bytes;
  sum.span_bytes += one.span_bytes;
  sum.foreign_frees += one.foreign_frees;
  sum.collected += one.collected;
  sum.failed += one.failed;
}

std::map<std::uint32_t, NodeSum> sums_by_node(runtime::Runtime& runtime) {
  const std::vector<std::uint32_t>& os_nodes = runtime.options().os_nodes;
  std::map<std::uint32_t, NodeSum> sums;
  for (std::size_t i = 0; i < runtime.worker_count(); ++i) {
    runtime::Worker& worker = runtime.worker(runtime::WorkerId{static_cast<std::uint16_t>(i)});
    NodeSum& sum = sums[os_nodes.empty() ? 0 : os_nodes[worker.node().index()]];
    add(sum.items, worker.items().stats());
    add(sum.nodes, worker.nodes().stats());
  }
  if (const runtime::SpreadHeap* const spread = runtime.spread_nodes(); spread != nullptr) {
    for (std::size_t i = 0; i < spread->nodes().size(); ++i) {
      add(sums[os_nodes[spread->nodes()[i].index()]].nodes, spread->stats(i));
    }
  }
  return sums;
}

/// What waits for its epoch. It is charged as items and index until it is freed.
std::uint64_t retired_bytes(runtime::Runtime& runtime) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < runtime.worker_count(); ++i) {
    const runtime::Worker& worker = runtime.worker(runtime::WorkerId{static_cast<std::uint16_t>(i)});
    sum += worker.counters().retired_bytes.load(std::memory_order_relaxed);
  }
  return sum;
}

/// Blocks on their way home from other workers' frees count as live.
void add_heaps(StatText& text, const std::string& prefix, const ValueHeapStats& heaps) {
  text.add(prefix + "live", heaps.live_bytes);
  text.add(prefix + "spans", heaps.span_bytes);
  text.add(prefix + "foreign_frees", heaps.foreign_frees);
  text.add(prefix + "collected", heaps.collected);
  text.add(prefix + "refused", heaps.failed);
}

void add_classes(StatText& text, runtime::Runtime& runtime) {
  for (std::size_t size_class = 0; size_class < runtime::kSizeClasses; ++size_class) {
    const runtime::ValueClassStats sum = sum_of_class(runtime, size_class);
    if (sum.spans != 0) {
      const std::string prefix = "class:" + std::to_string(sum.block_bytes) + ":";
      text.add(prefix + "blocks", sum.live_blocks);
      text.add(prefix + "spans", sum.spans);
    }
  }
}

}  // namespace

runtime::ValueClassStats sum_of_class(runtime::Runtime& runtime, std::size_t size_class) {
  runtime::ValueClassStats sum;
  for (std::size_t i = 0; i < runtime.worker_count(); ++i) {
    const runtime::ValueClassStats one =
        runtime.worker(runtime::WorkerId{static_cast<std::uint16_t>(i)}).items().class_stats(size_class);
    sum.block_bytes = one.block_bytes;
    sum.live_blocks += one.live_blocks;
    sum.spans += one.spans;
  }
  return sum;
}

void add_memory_stats(StatText& text, runtime::Runtime& runtime, const Store& store) {
  const runtime::MemoryBudget& budget = runtime.budget();
  text.add("limit", budget.limit_bytes());
  text.add("used", budget.used_bytes());
  for (const auto& [category, name] : kCategoryNames) {
    text.add(name, budget.category_bytes(category));
  }
  text.add("retired", retired_bytes(runtime));
  text.add("moved_items", store.total(counter::items_moved));
  text.add("idle_walks", store.total(counter::idle_walks));
  text.add("span_walks", store.total(counter::span_walks));
  for (const auto& [node, sum] : sums_by_node(runtime)) {
    const std::string prefix = "node:" + std::to_string(node) + ":";
    add_heaps(text, prefix + "items:", sum.items);
    add_heaps(text, prefix + "index:", sum.nodes);
  }
  add_classes(text, runtime);
}

}  // namespace mxkv::server
