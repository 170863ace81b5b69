// `stats items`, `stats slabs` and `stats sizes` under memcached's names, for exporters.
//
// memcached divides its memory into classes by item size, each with LRU lists of its own. Here only the
// allocator has classes, and they are what `slabs` and `sizes` show; `items` shares all items out by the blocks of each
// class. So a request counts nothing by class, sums over classes are right, and where values are large their pieces
// stand for items, too. Commands and evictions are in the first class there is, and what the lists of memcached count is
// 0.
#pragma once

#include <cstdint>
#include <vector>

namespace mxkv::runtime {
class Runtime;
}

namespace mxkv::server {

class StatText;
class Store;

/// `whole` in parts that are in proportion to the weights, and that add up to it. All parts are 0 where all weights are.
[[nodiscard]] std::vector<std::uint64_t> shared_out(std::uint64_t whole,
                                                    const std::vector<std::uint64_t>& weights);

/// Thread-safety of all: any thread; each number is a recent one.
void add_item_stats(StatText& text, runtime::Runtime& runtime, const Store& store, std::uint64_t items,
                    std::uint64_t bytes);
void add_slab_stats(StatText& text, runtime::Runtime& runtime, const Store& store);
void add_size_stats(StatText& text, runtime::Runtime& runtime);

}  // namespace mxkv::server
