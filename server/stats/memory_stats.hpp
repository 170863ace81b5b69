// `stats memory`: the budget by what it is used for, and the value heaps by NUMA node and by size class.
#pragma once

namespace mxkv::runtime {
class Runtime;
}

namespace mxkv::server {

class StatText;
class Store;

/// Adds the lines. Thread-safety: any thread; each number is a recent one.
void add_memory_stats(StatText& text, runtime::Runtime& runtime, const Store& store);

}  // namespace mxkv::server
