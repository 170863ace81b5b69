// Counts the NUMA nodes of the memory that look-ups read, for sampled requests, if there are several nodes.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/base/ids.hpp"

namespace mxkv::server {

/// What a look-up reads. Inner nodes above the lowest near level (index/tree.hpp) do not count: they stay in
/// the near caches.
enum class met_memory : std::uint8_t { inner_node, leaf, item };
inline constexpr std::size_t kMetMemories = 3;

/// The counts of one worker. Thread-safety: count() owner worker only; values: any thread.
class PlaceCounters {
 public:
  explicit PlaceCounters(std::size_t nodes) : elsewhere_(nodes) {}

  void count(met_memory what, runtime::NumaNodeId home, runtime::NumaNodeId here) noexcept {
    add(all_[static_cast<std::size_t>(what)]);
    if (home != here) {
      add(remote_[static_cast<std::size_t>(what)]);
      add(elsewhere_[home.index()]);
    }
  }

  [[nodiscard]] std::uint64_t all(met_memory what) const noexcept {
    return all_[static_cast<std::size_t>(what)].load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t remote(met_memory what) const noexcept {
    return remote_[static_cast<std::size_t>(what)].load(std::memory_order_relaxed);
  }
  /// Remote reads, by the node of the memory.
  [[nodiscard]] std::uint64_t of_node(std::size_t node) const noexcept {
    return elsewhere_[node].load(std::memory_order_relaxed);
  }

 private:
  using Counter = std::atomic<std::uint64_t>;  // relaxed, one writer
  static void add(Counter& counter) noexcept {
    counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

  std::array<Counter, kMetMemories> all_{};
  std::array<Counter, kMetMemories> remote_{};
  std::vector<Counter> elsewhere_;
};

}  // namespace mxkv::server
