// stats runtime: on which NUMA nodes lay what look-ups of the sample met.
#pragma once

namespace mxkv::runtime {
class Runtime;
}

namespace mxkv::server {

class StatText;
class Store;

/// Nothing where there is one node. Thread-safety: any thread.
void add_place_stats(StatText& text, runtime::Runtime& runtime, Store& store);

}  // namespace mxkv::server
