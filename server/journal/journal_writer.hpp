// Brings groups to the disk: closes an epoch, waits until all workers have passed it, writes and flushes its
// group, publishes it as durable, and hands the blocks back. A thread or a test calls one step() after the
// other.
//
// When it closes an epoch: in sync commit if any record waits. So the records that come during one flush go
// with the next, and no reply waits for a timer. In sync interval when the oldest record is half an interval
// old; in sync never after 10 ms. In any mode when need() asks for it, or when buffers fill up.
//
// Failures:
// - No space: the state is `refusing`. The records stay in memory, and the same group is written to the same
//   place again each second. Nothing is lost.
// - A write or flush fails: the state is `broken`. Data written since the last flush may be on disk or not,
//   and another flush would not tell. The group is given up, its epoch never becomes durable, and the
//   generation of failures moves on: replies that wait for it are never sent. Writing continues in a segment
//   marked as after a gap. But nothing is durable before a checkpoint, begun behind the gap, holds the lost
//   data.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/options.hpp"
#include "runtime/base/clock.hpp"
#include "server/commit/record_buffer.hpp"
#include "server/journal/flush_times.hpp"
#include "server/journal/journal_group.hpp"
#include "server/journal/segment_store.hpp"

namespace mxkv::server {

/// The guarantees for replies and reads.
struct JournalMode {
  config::sync_mode sync = config::sync_mode::commit;
  std::uint64_t interval_ns = 1'000'000'000;  ///< of sync interval
  bool readers_wait = true;                   ///< with sync commit: reads wait until their data is durable

  friend bool operator==(const JournalMode&, const JournalMode&) = default;
};

struct WriterOptions {
  JournalMode mode;
  std::uint64_t early_bytes = std::uint64_t{8} << 20U;  ///< so many bytes in buffers are written in any mode
  std::uint64_t most_bytes = 0;                         ///< of all segments: above it writes are refused; 0:
                                                        ///< no limit
  std::uint64_t history_bytes = 0;                      ///< of segments to keep that no checkpoint needs
};

/// Called on the writer's thread.
struct WriterHooks {
  std::function<std::uint64_t()> greatest_order;  ///< no greater order was minted
  std::function<void()> on_change = [] {};        ///< durable(), state() or failures() has changed
  std::function<void(std::string_view)> warn = [](std::string_view) {};  ///< one line, at most one a second
};

enum class journal_state : std::uint8_t { running, refusing, broken };

/// Counts since the start. Relaxed: each stands for itself.
struct WriterCounts {
  std::atomic<std::uint64_t> groups{0};
  std::atomic<std::uint64_t> records{0};
  std::atomic<std::uint64_t> bytes{0};     ///< of groups, on disk
  std::atomic<std::uint64_t> slow{0};      ///< flushes of more than a second
  std::atomic<std::uint64_t> no_space{0};  ///< attempts without space
  std::atomic<std::uint64_t> given_up{0};  ///< groups
};

/// Thread-safety: step(), sleep_ns(), retry_now() one thread; the rest any thread.
class JournalWriter {
 public:
  static constexpr std::uint64_t kNoLimit = ~std::uint64_t{0};

  JournalWriter(BufferShare& share, std::span<RecordBuffer* const> buffers, SegmentStore& store,
                const runtime::Clock& clock, WriterOptions options, WriterHooks hooks);
  ~JournalWriter();
  JournalWriter(const JournalWriter&) = delete;
  JournalWriter& operator=(const JournalWriter&) = delete;

  /// Makes one step if there is one to make. False: there is none before sleep_ns() have passed or a signal
  /// came.
  bool step();
  [[nodiscard]] std::uint64_t sleep_ns() const;
  /// Lets the next step() retry at once, instead of a second after the failure.
  void retry_now() noexcept { retry_ns_ = 0; }

  // After these the caller has to signal the writer.

  /// A worker has handed over a record of an epoch that was new to it, so the oldest record is at least as
  /// old as this call. So the backlog's age is seen even while the writer's thread waits for the system.
  void note_news() noexcept {
    if (oldest_ns_.load(std::memory_order_relaxed) == 0) {
      oldest_ns_.store(clock_.monotonic_ns(), std::memory_order_relaxed);
    }
  }
  /// Records up to `epoch`, which is at most the current one, are written now, in any mode; with `on_disk`
  /// flushed as well.
  void need(std::uint64_t epoch, bool on_disk) noexcept;
  /// In force from the next group on disk, see mode().
  void set_mode(const JournalMode& mode);
  void truncate(std::uint64_t before_epoch) noexcept;
  void rebased(std::uint64_t checkpoint_epoch) noexcept;
  /// Sets the limit. Returns whether it has changed; only then a signal is needed.
  [[nodiscard]] bool set_most_bytes(std::uint64_t bytes) noexcept {
    return most_bytes_.exchange(bytes, std::memory_order_relaxed) != bytes;
  }

  void set_history_bytes(std::uint64_t bytes) noexcept {
    history_bytes_.store(bytes, std::memory_order_relaxed);
  }

  /// The mode in force.
  [[nodiscard]] JournalMode mode() const;
  /// Whether replies are held until their data is durable; `now_ns` of the monotonic clock.
  [[nodiscard]] bool replies_wait(std::uint64_t now_ns) const noexcept {
    const std::uint64_t allowed = allowed_ns_.load(std::memory_order_relaxed);
    if (allowed == 0 || now_ns >= covered_ns_.load(std::memory_order_relaxed)) [[likely]] {
      return true;
    }
    if (allowed == kNoLimit) {
      return false;
    }
    const std::uint64_t oldest = oldest_ns_.load(std::memory_order_relaxed);
    return oldest != 0 && now_ns > oldest && now_ns - oldest > allowed;
  }
  /// Greatest flushed epoch. durable() of the epochs is above it in sync never, and below it when broken.
  [[nodiscard]] std::uint64_t synced() const noexcept { return synced_.load(std::memory_order_acquire); }
  /// Greatest epoch whose group is written or given up. All its changes are in the store.
  [[nodiscard]] std::uint64_t passed() const noexcept { return passed_.load(std::memory_order_acquire); }
  [[nodiscard]] journal_state state() const noexcept { return state_.load(std::memory_order_acquire); }
  /// Number of failures so far. A reply held since an earlier number is never sent.
  [[nodiscard]] std::uint64_t failures() const noexcept { return failures_.load(std::memory_order_acquire); }
  /// While broken: the least epoch at which a checkpoint for rebased() has to begin.
  [[nodiscard]] std::uint64_t gap_end() const noexcept { return gap_end_.load(std::memory_order_acquire); }
  /// A group found no space; the writer tries again each second.
  [[nodiscard]] bool out_of_space() const noexcept { return short_of_space_.load(std::memory_order_relaxed); }
  /// Why writes are refused; empty: they are not.
  [[nodiscard]] std::string refusal() const;
  /// The last error; empty: there was none.
  [[nodiscard]] std::string last_error() const;
  /// Age of the oldest record that is not durable.
  [[nodiscard]] std::uint64_t behind_ns(std::uint64_t now_ns) const noexcept;
  [[nodiscard]] const WriterCounts& counts() const noexcept { return counts_; }
  [[nodiscard]] const FlushTimes& flush_times() const noexcept { return flush_times_; }

 private:
  void take_requests();
  [[nodiscard]] bool due(std::uint64_t now_ns);
  void close(std::uint64_t now_ns);
  void collect();
  bool write(std::uint64_t now_ns);
  [[nodiscard]] DiskOutcome write_group(bool flush);
  void written(bool flushed_too, std::uint64_t begin_ns);
  void give_up(int error);
  void cannot(const char* what, int error, std::uint64_t now_ns);
  void hand_back() noexcept;
  bool upkeep(std::uint64_t now_ns);
  /// Whether clients see cas values only of records on disk.
  [[nodiscard]] static bool is_exact(const JournalMode& mode) noexcept;
  /// A group whose ceiling was taken at `begin_ns` or later is on disk.
  void cover(std::uint64_t begin_ns) noexcept;
  void free_readers() noexcept;
  void apply_mode();
  [[nodiscard]] bool is_full() const noexcept;
  void judge();
  void note_flush(std::uint64_t begin_ns);
  void warn(const std::string& text);
  [[nodiscard]] std::uint64_t patience_ns() const noexcept;
  [[nodiscard]] bool flushes() const noexcept;

  struct Lane {
    RecordBuffer* buffer;
    RecordBlock* first = nullptr;  ///< collected, not in a group yet, oldest first
    RecordBlock* last = nullptr;
    RecordBlock* group_first = nullptr;  ///< in the group
    RecordBlock* group_last = nullptr;
  };

  CommitEpochs& epochs_;
  BufferShare& share_;
  SegmentStore& store_;
  const runtime::Clock& clock_;
  WriterHooks hooks_;
  WriterOptions options_;
  std::vector<Lane> lanes_;
  JournalGroup group_;

  // The writer's own.
  enum class turn : std::uint8_t { open, closing, writing };
  turn turn_ = turn::open;
  std::uint64_t closed_;          ///< the last closed epoch
  std::uint64_t horizon_us_ = 0;  ///< of closed_, once all have passed it
  std::uint64_t close_ns_ = 0;    ///< when closed_ was closed
  std::uint64_t first_ns_ = 0;    ///< when a record behind closed_ was first seen; 0: there is none
  std::uint64_t retry_ns_ = 0;    ///< no retry before this
  std::uint64_t warned_ns_ = 0;   ///< 0: never
  std::uint64_t written_;         ///< the last epoch in the file
  std::uint64_t proven_;  ///< flushed, with all before it: commit blocks record it; stays while broken
  bool forced_ = false;   ///< a group is wanted, even an empty one
  bool ahead_failed_ = false;
  bool full_ = false;    ///< the last verdict of judge()
  bool unmade_ = false;  ///< broken, and no checkpoint has come yet
  std::optional<JournalMode> next_mode_;
  JournalMode mode_;

  // Requests. Relaxed: a signal follows, which orders them.
  std::atomic<std::uint64_t> needed_{0};
  std::atomic<std::uint64_t> needed_on_disk_{0};
  std::atomic<std::uint64_t> truncate_{0};
  std::atomic<std::uint64_t> rebased_{0};
  std::atomic<std::uint64_t> most_bytes_;
  std::atomic<std::uint64_t> history_bytes_;
  std::uint64_t truncated_ = 0;  ///< the writer's: how much of truncate_ is done

  // Shown to other threads.
  std::atomic<std::uint64_t> covered_ns_{0};  // see cover(); relaxed, as allowed_ns_
  std::atomic<std::uint64_t> allowed_ns_{
      0};  // of age before replies wait; relaxed: a new value may take effect a round later
  std::atomic<std::uint64_t> oldest_ns_{0};                   // relaxed: an age; 0: all is durable
  std::atomic<std::uint64_t> synced_;                         // release, pairs with synced()
  std::atomic<std::uint64_t> passed_;                         // release, pairs with passed()
  std::atomic<bool> short_of_space_{false};                   // relaxed: of the last try
  std::atomic<std::uint64_t> gap_end_{0};                     // release, pairs with gap_end()
  std::atomic<std::uint64_t> failures_{0};                    // release, pairs with failures()
  std::atomic<journal_state> state_{journal_state::running};  // release, pairs with state()
  WriterCounts counts_;
  FlushTimes flush_times_;
  mutable std::mutex mutex_;  ///< guards the rest
  std::optional<JournalMode> wanted_mode_;
  JournalMode shown_mode_;
  std::string refusal_;
  std::string last_error_;
};

}  // namespace mxkv::server
