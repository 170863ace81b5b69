// Brings groups to the disk: closes an epoch, waits until all workers passed it, writes and flushes its group,
// publishes it as durable, hands the blocks back. One step() after the other, on a thread or in a test.
//
// When an epoch is closed: in sync commit when anything waits; so as many records as came during one flush go
// with the next one, and nobody waits for a timer. In sync interval when the oldest record is half an interval
// old; never: 10 ms. Always when somebody needs it, or when buffers fill up.
//
// What goes wrong:
//  - No space: the state is `refusing`. What was recorded stays in memory, and the same group is written to the
//    same place again each second. Nothing is lost.
//  - A write or flush fails: the state is `broken`. What was written since the last flush may be on disk or
//    not, and another flush would not tell. The group is given up, its epoch never becomes durable, and the
//    generation of failures moves on: what waits for it is never answered. Writing goes on in a segment that
//    says so, but nothing is durable before a checkpoint, begun behind the gap, holds what was lost.
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
#include "server/journal/flush_times.hpp"
#include "server/journal/journal_buffer.hpp"
#include "server/journal/journal_group.hpp"
#include "server/journal/segment_store.hpp"

namespace mxkv::server {

/// What replies and reads may rely on.
struct JournalMode {
  config::sync_mode sync = config::sync_mode::commit;
  std::uint64_t interval_ns = 1'000'000'000;  ///< of sync interval
  bool readers_wait = true;                   ///< with sync commit: nobody reads what is not durable

  friend bool operator==(const JournalMode&, const JournalMode&) = default;
};

struct WriterOptions {
  JournalMode mode;
  std::uint64_t early_bytes = std::uint64_t{8} << 20U;  ///< so much in buffers is written in any mode
  std::uint64_t most_bytes = 0;                         ///< of all segments: above it refusing; 0: no limit
};

/// All are called on the writer's thread.
struct WriterHooks {
  std::function<std::uint64_t()> greatest_order;  ///< no order above it was given out
  std::function<void()> on_change = [] {};        ///< durable(), state() or failures() changed
  std::function<void(std::string_view)> warn = [](std::string_view) {};  ///< one line, at most one a second
};

enum class journal_state : std::uint8_t { running, refusing, broken };

/// Since the start. Relaxed: each is a number of its own.
struct WriterCounts {
  std::atomic<std::uint64_t> groups{0};
  std::atomic<std::uint64_t> records{0};
  std::atomic<std::uint64_t> bytes{0};     ///< of groups, on disk
  std::atomic<std::uint64_t> slow{0};      ///< flushes of more than a second
  std::atomic<std::uint64_t> no_space{0};  ///< tries that found no space
  std::atomic<std::uint64_t> given_up{0};  ///< groups
};

/// Thread-safety: step(), sleep_ns(), retry_now() one thread; the rest any thread.
class JournalWriter {
 public:
  static constexpr std::uint64_t kNoLimit = ~std::uint64_t{0};

  JournalWriter(BufferShare& share, std::span<JournalBuffer* const> buffers, SegmentStore& store,
                const runtime::Clock& clock, WriterOptions options, WriterHooks hooks);
  ~JournalWriter();
  JournalWriter(const JournalWriter&) = delete;
  JournalWriter& operator=(const JournalWriter&) = delete;

  /// Does one thing if there is one to do. False: nothing before sleep_ns() have passed or a signal came.
  bool step();
  [[nodiscard]] std::uint64_t sleep_ns() const;
  /// The next step() does not wait until a failed try is a second old.
  void retry_now() noexcept { retry_ns_ = 0; }

  // What follows needs a signal to the writer behind it.

  /// A worker has handed over a record of an epoch that was new to it: the oldest is not younger than now. So what is
  /// behind is seen, too, where the writer's thread waits for the system elsewhere.
  void note_news() noexcept {
    if (oldest_ns_.load(std::memory_order_relaxed) == 0) {
      oldest_ns_.store(clock_.monotonic_ns(), std::memory_order_relaxed);
    }
  }
  /// Records up to `epoch`, not above the current one, are written now, whatever the mode; with `on_disk`
  /// flushed as well.
  void need(std::uint64_t epoch, bool on_disk) noexcept;
  /// Counts from the next group on, which says in which mode it leaves the journal: see mode().
  void set_mode(const JournalMode& mode);
  void truncate(std::uint64_t before_epoch) noexcept;
  void rebased(std::uint64_t checkpoint_epoch) noexcept;
  /// Whether that is another number: else it needs no signal.
  [[nodiscard]] bool set_most_bytes(std::uint64_t bytes) noexcept {
    return most_bytes_.exchange(bytes, std::memory_order_relaxed) != bytes;
  }

  /// The mode that counts.
  [[nodiscard]] JournalMode mode() const;
  /// Whether a reply is held until what it tells is durable; `now_ns` of the monotonic clock.
  [[nodiscard]] bool replies_wait(std::uint64_t now_ns) const noexcept {
    const std::uint64_t allowed = allowed_ns_.load(std::memory_order_relaxed);
    if (allowed == 0 || allowed == kNoLimit) [[likely]] {
      return allowed == 0;
    }
    const std::uint64_t oldest = oldest_ns_.load(std::memory_order_relaxed);
    return oldest != 0 && now_ns > oldest && now_ns - oldest > allowed;
  }
  /// Greatest epoch that is flushed; durable() of the epochs is above it in sync never, below it when broken.
  [[nodiscard]] std::uint64_t synced() const noexcept { return synced_.load(std::memory_order_acquire); }
  /// Greatest epoch whose group is written or given up: all its records are in the store.
  [[nodiscard]] std::uint64_t passed() const noexcept { return passed_.load(std::memory_order_acquire); }
  [[nodiscard]] journal_state state() const noexcept { return state_.load(std::memory_order_acquire); }
  /// How often it broke. A reply held since an earlier number is never sent.
  [[nodiscard]] std::uint64_t failures() const noexcept { return failures_.load(std::memory_order_acquire); }
  /// Least epoch that a checkpoint has to begin at for rebased(), while broken.
  [[nodiscard]] std::uint64_t gap_end() const noexcept { return gap_end_.load(std::memory_order_acquire); }
  /// A group found no room; it is tried again each second.
  [[nodiscard]] bool out_of_space() const noexcept { return short_of_space_.load(std::memory_order_relaxed); }
  /// Why writes are refused; empty: they are not.
  [[nodiscard]] std::string refusal() const;
  /// The last thing that went wrong; empty: nothing did.
  [[nodiscard]] std::string last_error() const;
  /// How old the oldest record is that is not durable.
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
  void written(bool flushed_too);
  void give_up(int error);
  void cannot(const char* what, int error, std::uint64_t now_ns);
  void hand_back() noexcept;
  bool upkeep(std::uint64_t now_ns);
  void apply_mode();
  [[nodiscard]] bool is_full() const noexcept;
  void judge();
  void note_flush(std::uint64_t begin_ns);
  void warn(const std::string& text);
  [[nodiscard]] std::uint64_t patience_ns() const noexcept;
  [[nodiscard]] bool flushes() const noexcept;

  struct Lane {
    JournalBuffer* buffer;
    JournalBlock* first = nullptr;  ///< collected, not in a group yet, oldest first
    JournalBlock* last = nullptr;
    JournalBlock* group_first = nullptr;  ///< in the group
    JournalBlock* group_last = nullptr;
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
  std::uint64_t closed_;          ///< last epoch that was closed
  std::uint64_t horizon_us_ = 0;  ///< of closed_, once passed
  std::uint64_t close_ns_ = 0;    ///< when closed_ was
  std::uint64_t first_ns_ = 0;    ///< when a record was first seen behind closed_; 0: there is none
  std::uint64_t retry_ns_ = 0;    ///< not before then
  std::uint64_t warned_ns_ = 0;   ///< 0: never
  std::uint64_t written_;         ///< last epoch that is in the file
  std::uint64_t proven_;  ///< flushed, with all before it: what commit blocks may say; stays while broken
  bool forced_ = false;   ///< a group is wanted, also an empty one
  bool ahead_failed_ = false;
  bool full_ = false;    ///< as judged last
  bool unmade_ = false;  ///< broken, and no checkpoint came yet
  std::optional<JournalMode> next_mode_;
  JournalMode mode_;

  // Requests. Relaxed: a signal follows, which orders them.
  std::atomic<std::uint64_t> needed_{0};
  std::atomic<std::uint64_t> needed_on_disk_{0};
  std::atomic<std::uint64_t> truncate_{0};
  std::atomic<std::uint64_t> rebased_{0};
  std::atomic<std::uint64_t> most_bytes_;
  std::uint64_t truncated_ = 0;  ///< the writer's: what of truncate_ was done

  // Shown.
  std::atomic<std::uint64_t> allowed_ns_{
      0};  // of age before replies wait; relaxed: a switch counts from some round on
  std::atomic<std::uint64_t> oldest_ns_{0};                   // relaxed: an age; 0: all is durable
  std::atomic<std::uint64_t> synced_;                         // release, pairs with synced()
  std::atomic<std::uint64_t> passed_;                         // release, pairs with passed()
  std::atomic<bool> short_of_space_{false};                   // relaxed: of the last try
  std::atomic<std::uint64_t> gap_end_{0};                     // release, pairs with gap_end()
  std::atomic<std::uint64_t> failures_{0};                    // release, pairs with failures()
  std::atomic<journal_state> state_{journal_state::running};  // release, pairs with state()
  WriterCounts counts_;
  FlushTimes flush_times_;
  mutable std::mutex mutex_;  ///< of what follows
  std::optional<JournalMode> wanted_mode_;
  JournalMode shown_mode_;
  std::string refusal_;
  std::string last_error_;
};

}  // namespace mxkv::server
