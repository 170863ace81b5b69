// Which NUMA node an arena goes to when each node has a share of the memory.
//
// Arenas are counted whole when they are taken, so a node holds at most its share, whatever its workers need.
// The rest is placed on the node that has most of its share left. That keeps a node from being filled up to
// where the system swaps or evicts others, at the price of remote memory. When no share has room the wanted
// node is taken: shares say where memory goes, the MemoryBudget how much there is.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "runtime/base/ids.hpp"

namespace mxkv::runtime {

/// Shares of all nodes. Thread-safety: any thread, except construction and destruction.
class NodeShares {
 public:
  /// `bytes[i]` is the share of NumaNodeId i.
  explicit NodeShares(std::span<const std::size_t> bytes)
      : shares_(bytes.begin(), bytes.end()), taken_(bytes.size()) {}

  /// Counts `bytes` to `wanted`, or to the node with most room where they do not fit there, and returns it.
  [[nodiscard]] NumaNodeId charge(NumaNodeId wanted, std::size_t bytes) noexcept;

  [[nodiscard]] std::size_t taken_bytes(NumaNodeId node) const noexcept {
    return taken_[node.index()].load(std::memory_order_relaxed);
  }

 private:
  [[nodiscard]] bool try_charge(std::size_t node, std::size_t bytes) noexcept;
  [[nodiscard]] std::size_t room(std::size_t node) const noexcept;

  std::vector<std::size_t> shares_;
  std::vector<std::atomic<std::size_t>> taken_;  // relaxed: sums that admit, nothing is ordered by them
};

}  // namespace mxkv::runtime
