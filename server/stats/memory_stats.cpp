#include "server/stats/memory_stats.hpp"

#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "runtime/memory/page_census.hpp"
#include "runtime/memory/size_classes.hpp"
#include "runtime/scheduler/runtime.hpp"
#include "server/stats/memory_verdict.hpp"
#include "server/stats/stat_text.hpp"
#include "server/store/store.hpp"

namespace mxkv::server {

namespace {

using runtime::ValueHeapStats;

void add(ValueHeapStats& sum, const ValueHeapStats& one) {
  sum.live_bytes += one.live_bytes;
  sum.span_bytes += one.span_bytes;
  sum.foreign_frees += one.foreign_frees;
  sum.collected += one.collected;
  sum.failed += one.failed;
}

/// Blocks that other workers have freed, and that are on their way back, count as live.
void add_heaps(StatText& text, const std::string& prefix, const ValueHeapStats& heaps) {
  text.add(prefix + "live", heaps.live_bytes);
  text.add(prefix + "spans", heaps.span_bytes);
  text.add(prefix + "foreign_frees", heaps.foreign_frees);
  text.add(prefix + "collected", heaps.collected);
  text.add(prefix + "refused", heaps.failed);
}

void add_verdict(StatText& text, runtime::Runtime& runtime, const Store& store) {
  using runtime::memory_category;
  const runtime::MemoryBudget& budget = runtime.budget();
  const auto total = [&store](counter which) { return store.total(which); };
  MemoryFacts facts{
      .limit = budget.limit_bytes(),
      .used = budget.used_bytes(),
      .evicts = store.evicts(),
      .evacuates = store.evacuates(),
      .evictions = total(counter::evictions),
      .refusals = total(counter::store_no_memory),
      .unread =
          budget.category_bytes(memory_category::output) + budget.category_bytes(memory_category::referenced),
      .unfinished = budget.category_bytes(memory_category::buffers),
      .retired = runtime.retired_bytes(),
      .expired = store.expired_present().estimate().bytes,
      .items = total(counter::bytes_added) - total(counter::bytes_removed),
      .unplaced = runtime.item_space().unbound_arenas() + runtime.node_space().unbound_arenas()};
  for (const auto& [node, sum] : heaps_by_node(runtime)) {
    facts.item_spans += sum.items.span_bytes;
    facts.item_blocks += sum.items.live_bytes;
  }
  const std::vector<std::string> lines = memory_verdict(facts);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    text.add("verdict:" + std::to_string(i + 1), lines[i]);
  }
}

/// With small pages nearly each look-up waits for a translation of its addresses, too.
void add_pages(StatText& text, runtime::Runtime& runtime, runtime::PageCensus& census) {
  std::array pages{runtime.node_space().addresses(), runtime.item_space().addresses()};
  census.take(runtime.clock(), pages);
  for (std::size_t i = 0; i < pages.size(); ++i) {
    const std::string name = i == 0 ? "index" : "items";
    text.add(name + "_resident", pages[i].resident_bytes);
    text.add(name + "_in_huge_pages", pages[i].huge_bytes);
  }
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

std::map<std::uint32_t, NodeHeaps> heaps_by_node(runtime::Runtime& runtime) {
  const std::vector<std::uint32_t>& os_nodes = runtime.options().os_nodes;
  std::map<std::uint32_t, NodeHeaps> sums;
  for (std::size_t i = 0; i < runtime.worker_count(); ++i) {
    runtime::Worker& worker = runtime.worker(runtime::WorkerId{static_cast<std::uint16_t>(i)});
    NodeHeaps& sum = sums[os_nodes.empty() ? 0 : os_nodes[worker.node().index()]];
    add(sum.items, worker.items().stats());
    add(sum.nodes, worker.nodes().stats());
  }
  return sums;
}

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

void add_memory_stats(StatText& text, runtime::Runtime& runtime, const Store& store,
                      runtime::PageCensus& census) {
  const runtime::MemoryBudget& budget = runtime.budget();
  text.add("limit", budget.limit_bytes());
  text.add("used", budget.used_bytes());
  for (const auto& [category, name] : kMemoryCategoryNames) {
    text.add(name, budget.category_bytes(category));
  }
  text.add("retired", runtime.retired_bytes());
  add_pages(text, runtime, census);
  text.add("moved_items", store.total(counter::items_moved));
  text.add("idle_walks", store.total(counter::idle_walks));
  text.add("span_walks", store.total(counter::span_walks));
  for (const auto& [node, sum] : heaps_by_node(runtime)) {
    const std::string prefix = "node:" + std::to_string(node) + ":";
    add_heaps(text, prefix + "items:", sum.items);
    add_heaps(text, prefix + "index:", sum.nodes);
  }
  add_classes(text, runtime);
  add_verdict(text, runtime, store);
}

}  // namespace mxkv::server
