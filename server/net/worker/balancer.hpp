// Decides when a worker gives connections away: while it has work, it compares all workers' idle times once a
// window.
//
// A gap must exist in two windows in a row. In the first window the worker notes the progress of its
// connections. In the second it knows the work of each, and decides. Then it waits until the effect of the
// move is visible. If no move would help, it looks less and less often. A sleeping worker does not look, and
// need not be woken to be looked at: its idle clock goes on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "config/options.hpp"
#include "runtime/scheduler/idle_clock.hpp"
#include "server/net/observe/run_delay.hpp"
#include "server/net/worker/balance.hpp"

namespace mxkv::server {

/// A worker that may take connections. Its position is the worker's number.
struct BalancePeer {
  runtime::NumaNodeId node{};
  const runtime::IdleClock* idle = nullptr;
  const RunDelay* delay = nullptr;  ///< null: no run delay is known
};

/// Thread-safety: owner worker only.
class Balancer {
 public:
  /// How many windows a connection stays on its worker after it has moved.
  static constexpr std::uint64_t kRestWindows = 8;
  /// Windows until the effect of a move is visible.
  static constexpr std::uint32_t kSettleWindows = 2;
  /// Most windows between two looks when no move would help.
  static constexpr std::uint32_t kMostPatience = 8;

  /// What the worker should do at the end of a window.
  struct Advice {
    enum class what : std::uint8_t { nothing, note, give };
    what action = what::nothing;
    std::size_t taker = 0;   ///< a worker's number; this and the next two are set for give only
    std::uint32_t busy = 0;  ///< thousandths
    std::uint32_t gap = 0;
  };

  /// `own`: this worker's position among the peers. The peers' clocks outlive this.
  Balancer(std::vector<BalancePeer> peers, std::size_t own, const config::BalanceOptions& options);

  /// Turns balancing off or on from now.
  void set_mode(config::balance_mode mode) noexcept;
  [[nodiscard]] bool due(std::uint64_t now_ns) const noexcept { return now_ns >= next_ns_; }
  /// Called at the end of a window.
  [[nodiscard]] Advice look(std::uint64_t now_ns);
  /// The worker reports how many connections it is going to give after the advice `give`.
  void gave(std::size_t connections) noexcept;

  [[nodiscard]] const BalanceRules& rules() const noexcept { return rules_; }
  [[nodiscard]] std::uint64_t window_ns() const noexcept { return window_ns_; }

 private:
  [[nodiscard]] std::uint64_t first_look(config::balance_mode mode) const noexcept;
  void measure(std::uint64_t now_ns, std::uint64_t passed_ns);

  std::vector<BalancePeer> peers_;
  std::size_t own_;
  BalanceRules rules_;
  std::uint64_t window_ns_;
  std::uint64_t last_ns_ = 0;
  std::uint64_t next_ns_;  ///< never, if balancing is off or there is only one worker
  /// One worker's totals at the last look.
  struct Sums {
    std::uint64_t idle_ns = 0;
    std::uint64_t delay_ns = 0;
  };
  std::vector<Sums> sums_;        ///< by worker
  std::vector<WorkerBusy> busy_;  ///< by worker, in the last window
  bool suspects_ = false;         ///< there was a gap in the last window
  std::uint32_t passes_ = 0;      ///< windows that it does not judge
  std::uint32_t patience_ = kSettleWindows;
};

}  // namespace mxkv::server
