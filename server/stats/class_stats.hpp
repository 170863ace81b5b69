// `stats items`, `stats slabs` and `stats sizes` under memcached's names, for exporters.
//
// memcached divides its memory into classes by item size, each with LRU lists of its own. Here only the
// allocator has classes, and they are what `slabs` and `sizes` show; items are all in one class, 1. What the
// lists of memcached count is 0. Commands are not counted by class: all are in the first class there is, so
// that sums over classes are right.
#pragma once

#include <cstdint>

namespace mxkv::runtime {
class Runtime;
}

namespace mxkv::server {

class StatText;
class Store;

/// Thread-safety of all: any thread; each number is a recent one.
void add_item_stats(StatText& text, const Store& store, std::uint64_t items, std::uint64_t bytes);
void add_slab_stats(StatText& text, runtime::Runtime& runtime, const Store& store);
void add_size_stats(StatText& text, runtime::Runtime& runtime);

}  // namespace mxkv::server
