// `stats items`, `stats slabs` and `stats sizes` under memcached's names, for exporters.
//
// memcached divides its memory into classes by item size, each with its own LRU lists. In mxkv only the
// allocator has classes: `slabs` and `sizes` show these, and `items` distributes all items in proportion to
// the blocks of each class. So a request counts nothing by class, and sums over classes are right. The pieces
// of large values count as items in that proportion, too. Commands and evictions are in the first class, and
// counters of memcached's lists are 0.
#pragma once

#include <cstdint>
#include <vector>

namespace mxkv::runtime {
class Runtime;
}

namespace mxkv::server {

class StatText;
class Store;

/// Splits `whole` in proportion to the weights, into parts that add up to it. If all weights are 0, all parts
/// are.
[[nodiscard]] std::vector<std::uint64_t> shared_out(std::uint64_t whole,
                                                    const std::vector<std::uint64_t>& weights);

/// Thread-safety of all: any thread; each number is a recent one.
void add_item_stats(StatText& text, runtime::Runtime& runtime, const Store& store, std::uint64_t items,
                    std::uint64_t bytes);
void add_slab_stats(StatText& text, runtime::Runtime& runtime, const Store& store);
void add_size_stats(StatText& text, runtime::Runtime& runtime);

}  // namespace mxkv::server
