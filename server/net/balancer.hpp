// When a worker gives connections away: it looks at all workers' idle time once a window, while it has work.
//
// A gap must be there in two windows in a row. In the first the worker notes how far its connections are, in
// the second it knows what each of them did, and decides. Then it waits until what it changed can be seen. Where
// nothing that it has would help it looks more and more rarely. A worker that sleeps looks at nothing, and is
// not woken to be looked at: its idle clock goes on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "config/options.hpp"
#include "runtime/scheduler/idle_clock.hpp"
#include "server/net/balance.hpp"
#include "server/net/run_delay.hpp"

namespace mxkv::server {

/// A worker that connections may go to. Its position is the worker's number.
struct BalancePeer {
  runtime::NumaNodeId node{};
  const runtime::IdleClock* idle = nullptr;
  const RunDelay* delay = nullptr;  ///< null: none
};

/// Thread-safety: owner worker only.
class Balancer {
 public:
  /// Windows that a connection which has moved stays where it is.
  static constexpr std::uint64_t kRestWindows = 8;
  /// Windows until what was moved can be seen.
  static constexpr std::uint32_t kSettleWindows = 2;
  /// Most windows without a look, where nothing would help.
  static constexpr std::uint32_t kMostPatience = 8;

  /// What is to be done at the end of a window.
  struct Advice {
    enum class what : std::uint8_t { nothing, note, give };
    what action = what::nothing;
    std::size_t taker = 0;   ///< a worker's number; of give, as the next two
    std::uint32_t busy = 0;  ///< thousandths
    std::uint32_t gap = 0;
  };

  /// `own`: the worker's place among its peers. Their clocks outlive this.
  Balancer(std::vector<BalancePeer> peers, std::size_t own, const config::BalanceOptions& options);

  /// Off, or on, from now.
  void set_mode(config::balance_mode mode) noexcept;
  [[nodiscard]] bool due(std::uint64_t now_ns) const noexcept { return now_ns >= next_ns_; }
  /// A window is over.
  [[nodiscard]] Advice look(std::uint64_t now_ns);
  /// What came of the advice to give: so many connections will go.
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
  std::uint64_t next_ns_;  ///< never, where it is off or there is one worker
  /// Sums of a worker's, at the last look.
  struct Sums {
    std::uint64_t idle_ns = 0;
    std::uint64_t delay_ns = 0;
  };
  std::vector<Sums> sums_;        ///< of all workers
  std::vector<WorkerBusy> busy_;  ///< in the last window
  bool suspects_ = false;         ///< there was a gap in the last window
  std::uint32_t passes_ = 0;      ///< windows that are not judged
  std::uint32_t patience_ = kSettleWindows;
};

}  // namespace mxkv::server
