// The cluster's logs as the sockets see them: a reply waits until the logs have all changes that it reveals.
// It works as JournalGate, whose comment argues that no worker sleeps while one of its replies may leave.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

#include "runtime/base/cache_line.hpp"
#include "server/cluster/epoch_pipeline.hpp"
#include "server/cluster/refusal.hpp"
#include "server/reply/disk_gate.hpp"

namespace mxkv::server {

/// Thread-safety: as DiskGate; changed() on the cluster's thread.
class PipelineGate final : public DiskGate {
 public:
  /// `wake`: wakes a sleeping worker. `news`: wakes the cluster's thread. Connections are not read while more
  /// than `most_waiting` bytes are unacknowledged. A reply that waits for `most_wait_ns` is given up.
  PipelineGate(EpochPipeline& pipeline, std::size_t workers, std::uint64_t most_waiting,
               std::uint64_t most_wait_ns, std::function<void(std::size_t)> wake, std::function<void()> news);

  [[nodiscard]] Round begin_round(std::size_t worker, std::uint64_t now_us) noexcept override {
    const std::uint64_t mint_us = pipeline_.begin_round(id(worker), now_us);
    return {.mint_us = mint_us, .horizon_us = pipeline_.epochs().horizon_us()};
  }
  void end_round(std::size_t worker) noexcept override { pipeline_.end_round(id(worker)); }
  void park(std::size_t worker) noexcept override { pipeline_.park(id(worker)); }
  void unpark(std::size_t /*worker*/) noexcept override {}  // begin_round() does it
  void waits(std::size_t worker, bool begins) noexcept override;

  [[nodiscard]] std::uint64_t must_wait_for() const noexcept override {
    const std::uint64_t recorded = pipeline_.epochs().last_recorded();
    return recorded <= pipeline_.epochs().durable() ? 0 : recorded;
  }
  [[nodiscard]] std::uint64_t durable() const noexcept override { return pipeline_.epochs().durable(); }
  [[nodiscard]] std::uint64_t broken() const noexcept override { return pipeline_.failures(); }
  [[nodiscard]] bool reads_paused() const noexcept override {
    return pipeline_.waiting_bytes() > most_waiting_;
  }
  [[nodiscard]] std::uint64_t most_wait_ns() const noexcept override { return most_wait_ns_; }
  [[nodiscard]] std::string_view given_up_line() const noexcept override { return kNotAcknowledged; }
  [[nodiscard]] const char* refusal() const noexcept override {
    return nullptr;
  }  // routes refuse, key by key

  /// durable(), broken() or reads_paused() changed.
  void changed();

 private:
  struct alignas(2 * runtime::kCacheLineBytes) Seat {
    std::atomic<bool> waits{false};  // seq_cst, against changed()
  };

  [[nodiscard]] static runtime::WorkerId id(std::size_t worker) noexcept {
    return runtime::WorkerId{static_cast<std::uint16_t>(worker)};
  }

  EpochPipeline& pipeline_;
  std::size_t workers_;
  std::uint64_t most_waiting_;
  std::uint64_t most_wait_ns_;
  std::function<void(std::size_t)> wake_;
  std::function<void()> news_;
  std::unique_ptr<Seat[]> seats_;
};

}  // namespace mxkv::server
