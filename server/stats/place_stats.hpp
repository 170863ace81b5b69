// The NUMA nodes of the memory that sampled look-ups read: for `stats runtime`, and for metrics.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "server/store/core/place_counters.hpp"

namespace mxkv::runtime {
class Runtime;
}

namespace mxkv::server {

class StatText;
class Store;

/// Sums over all workers.
struct PlaceSums {
  struct Met {
    std::string_view name;
    std::uint64_t all = 0;
    std::uint64_t remote = 0;  ///< of these, on another node than the worker's
  };
  std::array<Met, kMetMemories> met;
  std::vector<std::pair<std::uint32_t, std::uint64_t>> of_nodes;  ///< remote ones, by the operating system's
                                                                  ///< number
};

/// With one node nothing is counted, and `of_nodes` is empty. Thread-safety: any thread.
[[nodiscard]] PlaceSums place_sums(runtime::Runtime& runtime, Store& store);

/// Adds nothing if there is one node. Thread-safety: any thread.
void add_place_stats(StatText& text, runtime::Runtime& runtime, Store& store);

}  // namespace mxkv::server
