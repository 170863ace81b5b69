// What server/net asks of a journal: begin and end of rounds, the epochs that replies wait for, and whether
// requests may come. server/net sees plain numbers; epochs belong to the journal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace mxkv::server {

/// One a journal; outlives the network. Functions with a worker's number are called by that worker alone, a
/// few times a round; all others by any thread, and return soon.
class DiskGate {
 public:
  /// The values for a worker's round, see WorkerContext.
  struct Round {
    std::uint64_t mint_us;
    std::uint64_t horizon_us;
  };

  DiskGate() = default;
  DiskGate(const DiskGate&) = delete;
  DiskGate& operator=(const DiskGate&) = delete;

  /// Call it before anything else in a round; `now_us` is the round's time.
  [[nodiscard]] virtual Round begin_round(std::size_t worker, std::uint64_t now_us) noexcept = 0;
  /// All tasks of the round have run. Also called once more before park(), for operations that sessions began
  /// since.
  virtual void end_round(std::size_t worker) noexcept = 0;
  /// The worker is about to sleep, or has ended. It changes nothing until unpark(), with which its next round
  /// begins. Each worker begins parked.
  virtual void park(std::size_t worker) noexcept = 0;
  virtual void unpark(std::size_t worker) noexcept = 0;
  /// From now on the worker has, or no longer has, output or input that waits. While it has, it is woken
  /// (Network::wake) after durable(), broken() or reads_paused() changed. The thread that changes them looks
  /// behind a seq_cst fence at whether a worker waits; the worker looks at them once more, behind one, before
  /// it sleeps.
  virtual void waits(std::size_t worker, bool begins) noexcept = 0;

  /// The epoch that a reply written now has to wait for; 0: none. It does not fall while durable() is below
  /// it.
  [[nodiscard]] virtual std::uint64_t must_wait_for() const noexcept = 0;
  [[nodiscard]] virtual std::uint64_t durable() const noexcept = 0;
  /// Grows whenever the waiting replies can never be known to be on disk: their connections are closed.
  [[nodiscard]] virtual std::uint64_t broken() const noexcept = 0;
  /// Replies, and requests that are not read, are given up after so long. 0: never.
  [[nodiscard]] virtual std::uint64_t most_wait_ns() const noexcept { return 0; }
  /// The line that clients get instead of given-up replies, here or by broken(), before they are closed;
  /// empty: none.
  [[nodiscard]] virtual std::string_view given_up_line() const noexcept { return {}; }
  /// Whether too many bytes wait to be written: then connections are not read.
  [[nodiscard]] virtual bool reads_paused() const noexcept = 0;
  /// Why changes are refused now; null: they are not. The text stays valid.
  [[nodiscard]] virtual const char* refusal() const noexcept = 0;

 protected:
  ~DiskGate() = default;
};

}  // namespace mxkv::server
