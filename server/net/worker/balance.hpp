// Decides which connections move to which worker, from the work of one window. Pure functions, called by the
// balancer.
//
// A worker's busyness is the part of the window in which it was not idle, or waited for a CPU. A connection's
// part of that is its work divided by the work of all connections of its worker. The busiest worker gives to
// the idlest, the second busiest to the second idlest, and so on: workers decide independently, and this way
// they do not all choose the same taker. A worker gives only if the taker has clearly less to do. It gives
// connections whose work comes nearest to half of the difference, and none if that would change little. So if
// one connection is all of a worker's load, it stays. A taker on another NUMA node must have much less to do
// than one on the giver's node.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtime/base/ids.hpp"

namespace mxkv::server {

/// One worker's load in a window, in thousandths. Its position in the span is the worker's number.
struct WorkerBusy {
  runtime::NumaNodeId node{};
  std::uint32_t busy = 0;
};

/// The work of one connection in a window, in any unit.
struct ConnectionWork {
  std::uint64_t work = 0;
  bool movable = true;
};

/// Thresholds, in thousandths of a window unless they are percents.
struct BalanceRules {
  std::uint32_t least_busy = 150;    ///< a worker that is less busy than this gives nothing
  std::uint32_t least_gap = 100;     ///< the least gap between giver and taker
  unsigned gap_percent = 25;         ///< the same, in percent of the giver's busyness
  unsigned remote_gap_percent = 50;  ///< the same, if the taker is on another NUMA node
  std::uint32_t least_gain = 60;     ///< by how much the gap must shrink at least
  std::size_t most_moves = 256;      ///< connections moved by one decision, at most
};

/// Thread-safety of all: any thread.

/// How busy a worker was in a window of `passed_ns`, in thousandths: the time in which it was not idle, plus
/// the time in which it waited for a CPU. A worker may wait for its CPU while it is not idle. That time
/// counts twice, but the result is never more than 1000.
[[nodiscard]] std::uint32_t busy_thousandths(std::uint64_t passed_ns, std::uint64_t idle_ns,
                                             std::uint64_t delay_ns) noexcept;

/// The worker that should take some of the giver's connections; none: the giver is not busier than its share.
[[nodiscard]] std::optional<std::size_t> choose_taker(const BalanceRules& rules,
                                                      std::span<const WorkerBusy> workers, std::size_t giver);

/// Which connections should move from a worker that is `busy` to one that is `gap` less busy. Returns their
/// positions; the connections with the most work come first.
[[nodiscard]] std::vector<std::size_t> choose_connections(const BalanceRules& rules, std::uint32_t busy,
                                                          std::uint32_t gap,
                                                          std::span<const ConnectionWork> connections);

}  // namespace mxkv::server
