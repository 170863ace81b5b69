// Heaps of several workers over one small space, for the tests of the value allocator and its poisoning.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <deque>

#include "runtime/memory/value_heap.hpp"

namespace mxkv::runtime::testing {

inline constexpr std::size_t kMiB = std::size_t{1} << 20U;

inline WorkerId worker(std::size_t i) {
  return WorkerId(static_cast<WorkerId::rep>(i));
}

/// Options of a space for tests: small pages, so that tests do not fill huge ones.
inline ValueSpaceOptions space_options(std::size_t workers, std::size_t reserve_bytes = 64 * kMiB) {
  ValueSpaceOptions options;
  options.pages.huge_pages = huge_pages_mode::off;
  options.workers = workers;
  options.reserve_bytes = reserve_bytes;
  return options;
}

/// Budget, space and one heap for each worker, all on node 0.
class Heaps {
 public:
  explicit Heaps(std::size_t workers, std::size_t limit_bytes = 64 * kMiB)
      : Heaps(limit_bytes, space_options(workers)) {}
  Heaps(std::size_t limit_bytes, const ValueSpaceOptions& options)
      : budget(limit_bytes, options.workers), space(budget, options) {
    for (std::size_t i = 0; i < options.workers; ++i) {
      heaps.emplace_back(space, budget.account(worker(i)), worker(i), NumaNodeId(0));
    }
  }

  ValueHeap& operator[](std::size_t i) { return heaps[i]; }

  /// Sends all blocks home and gives all empty spans back.
  void settle() {
    for (ValueHeap& heap : heaps) {
      heap.flush_foreign();
    }
    for (std::size_t i = 0; i < heaps.size(); ++i) {
      heaps[i].collect();
      heaps[i].trim();
      budget.account(worker(i)).flush();
    }
  }

  MemoryBudget budget;
  ValueSpace space;
  std::deque<ValueHeap> heaps;
};

/// A block filled with a pattern that depends on its seed, so that an overlap with another shows.
struct PatternBlock {
  unsigned char* data = nullptr;
  std::size_t bytes = 0;
  std::uint8_t seed = 0;

  void fill() const {
    for (std::size_t i = 0; i < bytes; ++i) {
      data[i] = static_cast<unsigned char>(seed + i);
    }
  }
  [[nodiscard]] bool intact() const {
    for (std::size_t i = 0; i < bytes; ++i) {
      if (data[i] != static_cast<unsigned char>(seed + i)) {
        return false;
      }
    }
    return true;
  }
};

}  // namespace mxkv::runtime::testing
