// What the sockets ask of a journal: when rounds begin and end, what replies have to wait for, and whether
// requests may come. The network side knows plain numbers only; epochs are the journal's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace mxkv::server {

/// One a journal; outlives the network. Workers are told by their number. Functions that take one are called by that worker alone, a
/// few times a round; all others by any thread, and soon.
class DiskGate {
 public:
  /// What holds for a worker's round, see WorkerContext.
  struct Round {
    std::uint64_t mint_us;
    std::uint64_t horizon_us;
  };

  DiskGate() = default;
  DiskGate(const DiskGate&) = delete;
  DiskGate& operator=(const DiskGate&) = delete;

  /// Before anything else in a round; `now_us` is the round's time.
  [[nodiscard]] virtual Round begin_round(std::size_t worker, std::uint64_t now_us) noexcept = 0;
  /// All tasks of the round have run. Also called once more before park(), for what sessions began since.
  virtual void end_round(std::size_t worker) noexcept = 0;
  /// The worker is about to sleep, or has ended. Nothing is changed until unpark(), with which its next round
  /// begins. Each worker begins parked.
  virtual void park(std::size_t worker) noexcept = 0;
  virtual void unpark(std::size_t worker) noexcept = 0;
  /// From now on the worker has, or has no more, output or input that waits. While it has, it is to be woken
  /// (Network::wake) after durable(), broken() or reads_paused() changed. Who changes them looks behind a seq_cst
  /// fence at whether a worker waits; the worker looks at them once more, behind one, before it sleeps.
  virtual void waits(std::size_t worker, bool begins) noexcept = 0;

  /// The epoch that a reply of now has to wait for; 0: none. It does not fall while durable() is below it.
  [[nodiscard]] virtual std::uint64_t must_wait_for() const noexcept = 0;
  [[nodiscard]] virtual std::uint64_t durable() const noexcept = 0;
  /// Grows whenever what waits by then will never be known to be on disk: its connections are closed.
  [[nodiscard]] virtual std::uint64_t broken() const noexcept = 0;
  /// What waits for so long is given up: replies, and requests that are not read. 0: nothing is.
  [[nodiscard]] virtual std::uint64_t most_wait_ns() const noexcept { return 0; }
  /// What clients are told in place of what was given up, here or by broken(), before they are closed; empty: nothing.
  [[nodiscard]] virtual std::string_view given_up_line() const noexcept { return {}; }
  /// Whether too much waits to be written: then connections are not read.
  [[nodiscard]] virtual bool reads_paused() const noexcept = 0;
  /// Why nothing may be changed now; null: it may. The text is good for ever.
  [[nodiscard]] virtual const char* refusal() const noexcept = 0;

 protected:
  ~DiskGate() = default;
};

}  // namespace mxkv::server
