// Which connections go to which worker, given what all did in a window: pure functions, the balancer's head.
//
// A worker is as busy as the part of the window in which it was not idle, or waited for a CPU. A connection's part of that is its
// work beside that of the others of its worker. The busiest worker gives to the idlest, the second to the
// second, and so on, so that workers that decide by themselves do not all choose one. One gives only where the
// other has clearly less to do; of its connections it gives those whose work comes nearest to half of the
// difference, and none where that would change little: the one connection that is all of a worker's load
// stays. Another NUMA node must have much less to do than one's own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtime/base/ids.hpp"

namespace mxkv::server {

/// Of a window, in thousandths. Its position is the worker's number.
struct WorkerBusy {
  runtime::NumaNodeId node{};
  std::uint32_t busy = 0;
};

/// What a connection had done in a window, in units of any kind.
struct ConnectionWork {
  std::uint64_t work = 0;
  bool movable = true;
};

/// Thresholds, in thousandths of a window unless they are percents.
struct BalanceRules {
  std::uint32_t least_busy = 150;    ///< a worker that is busy for less has time for all it has
  std::uint32_t least_gap = 100;     ///< between giver and taker
  unsigned gap_percent = 25;         ///< of the giver's, the same
  unsigned remote_gap_percent = 50;  ///< the same, to another NUMA node
  std::uint32_t least_gain = 60;     ///< by which the gap must become less
  std::size_t most_moves = 256;      ///< of one decision
};

/// Thread-safety of all: any thread.

/// Of a window of `passed_ns`, in thousandths: what was not idle, and what could not run. A worker may have
/// waited for its CPU while it was not idle, too: that it counts twice makes it no busier than busy.
[[nodiscard]] std::uint32_t busy_thousandths(std::uint64_t passed_ns, std::uint64_t idle_ns,
                                             std::uint64_t delay_ns) noexcept;

/// Who should take some of the giver's connections; none: the giver has no more than its part.
[[nodiscard]] std::optional<std::size_t> choose_taker(const BalanceRules& rules,
                                                      std::span<const WorkerBusy> workers, std::size_t giver);

/// Which connections of a worker that is `busy` should go to one that is `gap` less so: their positions, those
/// with most work first.
[[nodiscard]] std::vector<std::size_t> choose_connections(const BalanceRules& rules, std::uint32_t busy,
                                                          std::uint32_t gap,
                                                          std::span<const ConnectionWork> connections);

}  // namespace mxkv::server
