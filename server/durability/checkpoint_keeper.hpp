// Decides when a checkpoint is due, and acts when it has ended: the journal before it may be removed, a
// broken journal is whole again, and the bound of the journal's size moves with the checkpoint's.
//
// A checkpoint is due when the journal has grown by so much, or so long after the last one if anything was
// written. It is also due when a write of the journal failed, since then only a checkpoint can have the lost
// records.
//
// When the wall clock was set, the keeper has a group written, which records the distance from the steady
// time: the next start resumes time by it (resumed_time.hpp).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "config/options.hpp"
#include "runtime/base/clock.hpp"
#include "server/durability/journal_checkpoints.hpp"
#include "server/journal/journal.hpp"

namespace mxkv::server {

inline constexpr std::uint64_t kNsPerMs = 1'000'000;

/// The state by which checkpoint_due() decides.
struct CheckpointView {
  std::uint64_t written_bytes = 0;  ///< of journal since the last checkpoint began
  std::uint64_t last_bytes = 0;     ///< of the last checkpoint
  std::uint64_t age_ms = 0;         ///< since the last checkpoint ended, or the start
  bool broken = false;
};

/// Thread-safety: any thread.
[[nodiscard]] bool checkpoint_due(const config::CheckpointOptions& options,
                                  const CheckpointView& view) noexcept;
/// Most bytes of journal, from the option and the size of the last checkpoint.
[[nodiscard]] std::uint64_t most_journal_bytes(std::uint64_t option, std::uint64_t checkpoint_bytes) noexcept;

/// Receivers of log lines, by level. A line without a receiver is not composed. Called by any thread.
struct KeeperLines {
  std::function<void(const std::string&)> warn{};
  std::function<void(const std::string&)> debug{};
};

/// Thread-safety: given per function.
class CheckpointKeeper final : public JournalCheckpoints {
 public:
  /// `journal_bytes`: of the journal behind the last checkpoint. `greatest_order`: no greater order was
  /// minted. All arguments outlive this.
  CheckpointKeeper(Journal& journal, const runtime::Clock& clock, const config::DurabilityOptions& options,
                   std::uint64_t journal_bytes, std::function<std::uint64_t()> greatest_order,
                   KeeperLines lines);
  ~CheckpointKeeper() override;

  /// Start-up only.
  void start(Checkpointer& checkpointer);
  /// Ends the thread.
  void stop();
  /// In force from now on. Any thread.
  void set_options(const config::DurabilityOptions& options);
  /// The journal wrote a group, or failed to. The writer's thread, after each group; the keeper is only woken
  /// for some.
  void journal_changed();

  // --- For the checkpointer ---

  std::uint64_t end_epoch() override;
  void checkpointed(std::uint64_t epoch) override;

 private:
  void run();
  [[nodiscard]] std::uint64_t look();
  void look_at_clock();
  void tell_of_completed(const CheckpointStatus& status) const;

  Journal& journal_;
  const runtime::Clock& clock_;
  KeeperLines lines_;
  Checkpointer* checkpointer_ = nullptr;
  CheckpointBell bell_;
  std::thread thread_;
  std::atomic<bool> stopping_{false};        // relaxed: the bell orders it
  std::atomic<std::uint64_t> counted_from_;  // bytes written when the last checkpoint began, less those from
                                             // before the start
  std::atomic<std::uint64_t> begun_bytes_{0};  // the same for the checkpoint under way
  std::atomic<bool> wants_first_{false};       // relaxed: the thread waits for the first bytes of the journal
  // The writer's thread: when it last rang.
  std::uint64_t rung_ns_ = 0;
  std::uint64_t rung_bytes_ = 0;
  std::uint64_t rung_failures_ = 0;
  std::uint64_t last_end_ns_;  ///< the keeper thread's, as are the next four
  std::int64_t wall_ahead_s_;  ///< that the journal has recorded
  std::uint64_t completed_ = 0;
  std::uint64_t failed_ = 0;
  std::uint64_t not_before_ns_ = 0;  ///< after a failure
  std::mutex mutex_;                 ///< guards options_
  config::DurabilityOptions options_;
};

}  // namespace mxkv::server
