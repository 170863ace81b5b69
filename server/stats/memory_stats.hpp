// `stats memory`: the budget by category, and the value heaps by NUMA node and by size class.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>

#include "runtime/memory/memory_budget.hpp"
#include "runtime/memory/value_heap.hpp"

namespace mxkv::runtime {
class PageCensus;
class Runtime;
}  // namespace mxkv::runtime

namespace mxkv::server {

class StatText;
class Store;

inline constexpr std::array kMemoryCategoryNames{
    std::pair{runtime::memory_category::index, std::string_view{"index"}},
    std::pair{runtime::memory_category::items, std::string_view{"items"}},
    std::pair{runtime::memory_category::tasks, std::string_view{"tasks"}},
    std::pair{runtime::memory_category::output, std::string_view{"output"}},
    std::pair{runtime::memory_category::buffers, std::string_view{"buffers"}},
    std::pair{runtime::memory_category::referenced, std::string_view{"referenced"}},
    std::pair{runtime::memory_category::ghosts, std::string_view{"ghosts"}},
};

/// Adds the lines. Thread-safety: any thread; each number is a recent one.
void add_memory_stats(StatText& text, runtime::Runtime& runtime, const Store& store,
                      runtime::PageCensus& census);

/// The heaps of all workers of one node.
struct NodeHeaps {
  runtime::ValueHeapStats items;
  runtime::ValueHeapStats nodes;
};
/// By the operating system's number of the node. Thread-safety: any thread.
[[nodiscard]] std::map<std::uint32_t, NodeHeaps> heaps_by_node(runtime::Runtime& runtime);

/// One size class of the items' heaps of all workers. Thread-safety: any thread.
[[nodiscard]] runtime::ValueClassStats sum_of_class(runtime::Runtime& runtime, std::size_t size_class);

}  // namespace mxkv::server
