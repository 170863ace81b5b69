// Which workers a target means, and the error text for a target that means none.
//
// Built once from the machine and from where the workers sit. Memory-only nodes, nodes with all CPUs offline
// or forbidden, and groups without a worker exist on the machine. No worker runs there: an error, as for
// places that do not exist.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "runtime/base/assert.hpp"
#include "runtime/base/result.hpp"
#include "runtime/options.hpp"
#include "runtime/task/target.hpp"
#include "runtime/topology/topology.hpp"

namespace mxkv::runtime {

/// Thread-safety: any thread, once built.
class Places {
 public:
  Places(const Topology& topology, std::span<const WorkerPlacement> workers, std::size_t pools);

  /// Whether a worker runs there.
  [[nodiscard]] bool exists(Target target) const noexcept;
  /// The error for a target that does not exist, such as "NUMA node 7 has no worker (...)".
  [[nodiscard]] Error complaint(Target target) const;
  /// The workers of a core group or node, ascending; empty: none, or another kind of target.
  [[nodiscard]] std::span<const WorkerId> workers(Target target) const noexcept;

 private:
  std::size_t worker_count_;
  std::size_t pool_count_;
  std::vector<std::vector<WorkerId>> groups_;
  std::vector<std::vector<WorkerId>> nodes_;
};

/// The better of two that `random` chooses among `candidates` (at least one): the one with less load by
/// `load(WorkerId)`. Two choices come close to the best at no more than two looks. Thread-safety: any thread.
template <class Load>
  requires std::totally_ordered<std::invoke_result_t<const Load&, WorkerId>>
[[nodiscard]] WorkerId less_loaded_of_two(std::span<const WorkerId> candidates, std::uint64_t random,
                                          const Load& load) noexcept {
  const std::size_t count = candidates.size();
  MXKV_ASSERT(count > 0, "there is a worker to choose");
  const std::size_t first = (random & 0xFFFFFFFFU) % count;
  if (count == 1) {
    return candidates[first];
  }
  const std::size_t second = (first + 1 + (random >> 32U) % (count - 1)) % count;
  return load(candidates[second]) < load(candidates[first]) ? candidates[second] : candidates[first];
}

}  // namespace mxkv::runtime
