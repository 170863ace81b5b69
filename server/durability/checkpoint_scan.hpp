// The workers' side of a checkpoint: scans that fill buffers with puts of the items, in key order.
//
// Expired items are written, too: an operation that began before their expiry may still touch them, and its
// record alone could not bring them back. The next start decides which items have expired by then.
//
// Each part of the keys has one scan at a time, which ends when its buffer is full. The writer empties the
// buffer and has it filled again. So a checkpoint takes no more memory than its buffers, and no task waits
// while the disk writes. Scans run behind all other work, and a pin lasts for 16 leaves.
//
// Large values are not copied: a buffer refers to their chunks. Only a worker may drop these references, so
// the next scan does, or at the end a task of its own.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "server/durability/item_record.hpp"
#include "server/durability/key_ranges.hpp"
#include "server/store/core/store_task.hpp"

namespace mxkv::server {

class Store;

/// The puts of one block, and the value of the last put if it is apart.
struct FilledBlock {
  std::size_t end = 0;  ///< in the buffer; the block begins where the one before ends
  std::uint32_t records = 0;
  std::string first;
  std::string last;
  ChunkList* value = nullptr;  ///< a reference; null: not apart
};

/// The buffer of a scan. Used by its scan or by the writer, never by both.
class CheckpointBuffer {
 public:
  static constexpr std::size_t kBytes = std::size_t{256} << 10U;
  static constexpr std::uint64_t kMostReferenced = std::uint64_t{4}
                                                   << 20U;  ///< of large values, unless it is a single
                                                            ///< one

  CheckpointBuffer() : bytes_(kBytes) {}
  CheckpointBuffer(const CheckpointBuffer&) = delete;
  CheckpointBuffer& operator=(const CheckpointBuffer&) = delete;

  /// Adds an item, seen while pinned; its expiry is recorded `wall_ahead_s` later. False: no room, and
  /// nothing changed.
  bool add(const Item::View& item, std::int64_t wall_ahead_s);
  [[nodiscard]] const std::vector<FilledBlock>& blocks() const noexcept { return blocks_; }
  [[nodiscard]] std::string_view bytes(std::size_t from, std::size_t to) const noexcept {
    return {bytes_.data() + from, to - from};
  }
  /// Drops the references on values. On a worker.
  void clear(runtime::Worker& worker) noexcept;
  /// Whether clear() has references to drop.
  [[nodiscard]] bool holds_values() const noexcept { return referenced_ > 0; }

 private:
  std::vector<char> bytes_;
  std::size_t filled_ = 0;
  std::uint64_t referenced_ = 0;
  std::vector<FilledBlock> blocks_;
  bool block_is_open_ = false;
};

/// Wakes the thread that writes a checkpoint. Thread-safety: any thread.
class CheckpointBell {
 public:
  void ring() {
    {
      const std::scoped_lock lock{mutex_};
      rung_ = true;
    }
    changed_.notify_one();
  }
  /// Waits until it rings, or `ns` have passed; ~0: without a limit.
  void wait(std::uint64_t ns);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool rung_ = false;
};

/// The scan of one part. The writer starts it and looks at it. While it runs, only its task uses it.
class PartScan {
 public:
  enum class state : std::uint8_t {
    idle,
    running,
    filled,  ///< the buffer is the writer's
    failed,  ///< the workers have ended
  };

  /// Scans keys in [from, to); `to` empty: to the end.
  PartScan(Store& store, CheckpointBell& bell, std::string_view from, std::string_view to, record_times times)
      : store_(store), bell_(bell), from_(from), to_(to), times_(times) {}
  PartScan(const PartScan&) = delete;
  PartScan& operator=(const PartScan&) = delete;

  [[nodiscard]] state now() const noexcept { return state_.load(std::memory_order_acquire); }
  /// All keys were seen; the buffer has the last puts.
  [[nodiscard]] bool exhausted() const noexcept { return exhausted_; }
  [[nodiscard]] const CheckpointBuffer& buffer() const noexcept { return buffer_; }
  [[nodiscard]] const std::string& from() const noexcept { return from_; }
  [[nodiscard]] const std::string& to() const noexcept { return to_; }

  /// Fills the buffer from where the last scan ended. Not while it runs. `worker` offers the scan, and the
  /// least busy worker takes it: the scans of a checkpoint are deferred tasks of one request.
  void start(runtime::WorkerId worker, runtime::RequestId request);
  /// Drops the buffer's references, on a worker.
  void release(runtime::WorkerId worker);
  /// The same at once, when no worker runs.
  void drop(runtime::Worker& worker) noexcept { buffer_.clear(worker); }

  // For the tasks.
  [[nodiscard]] Store& store() noexcept { return store_; }
  void offer(runtime::Worker& worker);
  void begin(runtime::Worker& worker);
  /// `flushed`: a flush has taken items with an order up to this.
  bool visit(const Item::View& item, std::uint64_t flushed);
  /// The key where the next scan begins.
  [[nodiscard]] std::string_view next_key() const noexcept {
    return key_.view().empty() ? from_ : key_.view();
  }
  void ended(bool exhausted);
  void released(runtime::Worker& worker);
  void lost();

 private:
  void submit(runtime::WorkerId worker, bool scans);
  void hand_over(state now);

  Store& store_;
  CheckpointBell& bell_;
  std::string from_;
  std::string to_;
  record_times times_;
  HeldKey key_;  ///< the last key that was added
  CheckpointBuffer buffer_;
  std::int64_t wall_ahead_s_ = 0;
  runtime::RequestId request_{0};
  bool reached_end_ = false;
  bool exhausted_ = false;
  std::atomic<state> state_{
      state::idle};  // publishes all of the above: release by the one side, acquire by the other
};

/// Finds keys that cut the tree into parts of about the same size.
class CheckpointCut {
 public:
  CheckpointCut(Store& store, CheckpointBell& bell) : store_(store), bell_(bell) {}

  /// Samples leaves on a worker. `seed` chooses them.
  void start(runtime::WorkerId worker, std::uint64_t seed);
  [[nodiscard]] bool done() const noexcept { return done_.load(std::memory_order_acquire); }
  [[nodiscard]] bool failed() const noexcept { return failed_; }
  [[nodiscard]] KeyRanges ranges(std::uint32_t parts) &&;

  // For the task.
  [[nodiscard]] Store& store() noexcept { return store_; }
  void add(std::string_view key, double weight) {
    samples_.emplace_back(key, static_cast<std::uint64_t>(weight));
  }
  void ended(bool failed);
  [[nodiscard]] std::uint64_t seed() const noexcept { return seed_; }

 private:
  Store& store_;
  CheckpointBell& bell_;
  std::uint64_t seed_ = 0;
  std::vector<KeyRanges::Sample> samples_;
  bool failed_ = false;
  std::atomic<bool> done_{false};  // publishes the samples: release by the task, acquire by the writer
};

}  // namespace mxkv::server
