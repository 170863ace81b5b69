// `stats memory`: the budget by what it is used for, and the value heaps by NUMA node and by size class.
#pragma once

#include <cstddef>

#include "runtime/memory/value_heap.hpp"

namespace mxkv::runtime {
class Runtime;
}

namespace mxkv::server {

class StatText;
class Store;

/// Adds the lines. Thread-safety: any thread; each number is a recent one.
void add_memory_stats(StatText& text, runtime::Runtime& runtime, const Store& store);

/// One size class of the items' heaps of all workers. Thread-safety: any thread.
[[nodiscard]] runtime::ValueClassStats sum_of_class(runtime::Runtime& runtime, std::size_t size_class);

}  // namespace mxkv::server
