// The journal as server/net sees it: the epoch that replies wait for, and the wake-up of workers when it is
// on disk.
//
// A worker whose connections hold output says so (waits), and looks again before it sleeps. The writer
// publishes the durable epoch, and then looks which workers wait. Both stores and both looks are sequentially
// consistent, so one of the two sees the other: no worker sleeps over a reply that may leave.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>

#include "runtime/base/cache_line.hpp"
#include "runtime/base/clock.hpp"
#include "server/journal/journal.hpp"
#include "server/reply/disk_gate.hpp"

namespace mxkv::server {

/// Thread-safety: as DiskGate; changed() on the writer's thread.
class JournalGate final : public DiskGate {
 public:
  /// `wake`: ends a worker's sleep. Above `most_waiting` unwritten bytes, connections are not read.
  JournalGate(Journal& journal, const runtime::Clock& clock, std::size_t workers, std::uint64_t most_waiting,
              std::function<void(std::size_t)> wake);

  [[nodiscard]] Round begin_round(std::size_t worker, std::uint64_t now_us) noexcept override {
    const std::uint64_t mint_us = journal_.begin_round(id(worker), now_us);
    return {.mint_us = mint_us, .horizon_us = journal_.epochs().horizon_us()};
  }
  void end_round(std::size_t worker) noexcept override { journal_.end_round(id(worker)); }
  void park(std::size_t worker) noexcept override { journal_.park(id(worker)); }
  void unpark(std::size_t /*worker*/) noexcept override {}  // begin_round() does it
  void waits(std::size_t worker, bool begins) noexcept override;

  [[nodiscard]] std::uint64_t must_wait_for() const noexcept override;
  [[nodiscard]] std::uint64_t durable() const noexcept override { return journal_.epochs().durable(); }
  [[nodiscard]] std::uint64_t broken() const noexcept override { return journal_.writer().failures(); }
  [[nodiscard]] bool reads_paused() const noexcept override {
    return journal_.waiting_bytes() > most_waiting_;
  }
  [[nodiscard]] const char* refusal() const noexcept override {
    return refusal_.load(std::memory_order_acquire);  // pairs with changed()
  }

  /// Call this after durable(), broken(), reads_paused() or refusal() changed.
  void changed();

 private:
  struct alignas(2 * runtime::kCacheLineBytes) Seat {
    std::atomic<bool> waits{false};  // seq_cst, see above
  };

  [[nodiscard]] static runtime::WorkerId id(std::size_t worker) noexcept {
    return runtime::WorkerId{static_cast<std::uint16_t>(worker)};
  }

  Journal& journal_;
  const runtime::Clock& clock_;
  std::size_t workers_;
  std::uint64_t most_waiting_;
  std::function<void(std::size_t)> wake_;
  std::unique_ptr<Seat[]> seats_;
  std::list<std::string> texts_;  ///< of refusals, each once, as sessions refer to them. The writer's
  std::atomic<const char*> refusal_{nullptr};
};

}  // namespace mxkv::server
