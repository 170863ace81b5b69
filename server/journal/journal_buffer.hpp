// What one worker recorded and is not on disk yet.
//
// Records are appended under latches: append never fails and never waits; it allocates only when the worker
// recorded more than a chunk in one round. A block of records has one label. It is *sealed*, that is handed to
// the writer, when it is full, when a value apart ends it, or at the end of a round in which the epoch moved on.
// The writer hands blocks back when they are written; the worker takes them at the end of a round, and drops
// the references on values apart then, as only it may.
//
// Two lists connect worker and writer, of one pusher and one taker each, who takes all at once: a stack by one
// word each way.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "runtime/base/assert.hpp"
#include "runtime/base/cache_line.hpp"
#include "runtime/memory/memory_budget.hpp"
#include "server/journal/commit_epochs.hpp"
#include "server/journal/journal_block.hpp"
#include "server/journal/record.hpp"

namespace mxkv::server {

/// What the buffers of a journal share. Thread-safety: any thread.
struct BufferShare {
  CommitEpochs* epochs = nullptr;
  runtime::MemoryBudget* budget = nullptr;  ///< chunks are charged to it as buffers, if there is one
  /// Of sealed blocks that are not written. Relaxed: a level that network and writer look at. Added to by
  /// worker per block, not per record.
  alignas(2 * runtime::kCacheLineBytes) std::atomic<std::uint64_t> waiting_bytes{0};
};

/// Thread-safety: owner worker only, unless said otherwise.
class alignas(2 * runtime::kCacheLineBytes) JournalBuffer {
 public:
  explicit JournalBuffer(BufferShare& share) noexcept;
  /// Drops what is left; neither its worker nor the writer runs any more.
  ~JournalBuffer();
  JournalBuffer(const JournalBuffer&) = delete;
  JournalBuffer& operator=(const JournalBuffer&) = delete;

  /// What ApartClass::release() gets. Start-up only.
  void set_context(void* context) noexcept { context_ = context; }

  // Appending. The order of a record was minted in this round: see commit_epochs.hpp.

  /// Under the latch of the key, before its effect can be seen. A value apart is passed to put_apart().
  template <class R>
  void append(const R& record) noexcept {
    char* const out = room(encoded_bytes(record));
    at_ = write_record(out, record);
    ++records_;
  }
  /// `record.apart_bytes` is the value's; takes over the reference.
  void put_apart(const PutRecord& record, const ApartValue& value) noexcept;

  /// All records up to end_group() have one label: that of now. Both in one round.
  void begin_group() noexcept;
  void end_group() noexcept;

  // Rounds.

  /// Seals what has a label below `epoch`, and takes back what was written.
  void end_round(std::uint64_t epoch) noexcept {
    MXKV_DCHECK(label_ != &group_label_, "a group ends in the round in which it begins");
    if (epoch_ != 0 && epoch_ < epoch) [[unlikely]] {
      seal();
    }
    if (returned_.load(std::memory_order_relaxed) != nullptr || spare_ == nullptr) [[unlikely]] {
      refill();
    }
  }
  /// Seals everything, and returns spare memory to the system.
  void park() noexcept;
  /// Whether the writer should look at this buffer: since the last call a label was new, or a block was full.
  [[nodiscard]] bool take_news() noexcept { return has_news_ && std::exchange(has_news_, false); }
  /// Greatest label of a record of this worker; 0: none.
  [[nodiscard]] std::uint64_t last_label() const noexcept { return last_label_; }

  // The writer's side, one thread.

  /// Sealed blocks, oldest first, linked by `next`; null: none. Those of an epoch are there when the worker's
  /// seat is above it.
  [[nodiscard]] JournalBlock* collect() noexcept;
  /// The chain from `first` to `last` is written, or given up.
  void give_back(JournalBlock* first, JournalBlock* last) noexcept;

 private:
  static constexpr std::size_t kMostSpare = 16;  ///< chunks that are kept

  [[nodiscard]] char* room(std::size_t bytes) noexcept {
    // An epoch_ of 0, no block is open, is no label.
    const std::uint64_t label = label_->load(std::memory_order_relaxed);
    if (label != epoch_ || bytes > static_cast<std::size_t>(end_ - at_)) [[unlikely]] {
      begin_block(label);
    }
    return at_;
  }
  [[gnu::noinline, gnu::cold]] void begin_block(std::uint64_t label) noexcept;
  [[gnu::noinline, gnu::cold]] void seal() noexcept;
  [[gnu::noinline]] void refill() noexcept;
  void take_back() noexcept;
  void leave_chunk() noexcept;
  void keep(JournalChunk* chunk) noexcept;
  [[nodiscard]] JournalChunk* allocate() noexcept;
  void release(JournalChunk* chunk) noexcept;

  const std::atomic<std::uint64_t>* label_;  ///< the current epoch, or in a group group_label_
  std::uint64_t epoch_ = 0;                  ///< of the open block; 0: none is open
  char* at_ = nullptr;                       ///< where the next record goes
  char* end_ = nullptr;                      ///< of the chunk
  std::uint32_t records_ = 0;                ///< in the open block
  JournalBlock* block_ = nullptr;            ///< the open one
  JournalChunk* chunk_ = nullptr;            ///< that blocks are taken from
  char* chunk_at_ = nullptr;                 ///< where the next block goes
  JournalChunk* spare_ = nullptr;
  std::size_t spares_ = 0;
  std::uint64_t last_label_ = 0;
  bool has_news_ = false;
  std::atomic<std::uint64_t> group_label_{0};  // owner worker only; atomic as the word it stands for
  BufferShare* share_;
  void* context_ = nullptr;

  // The worker pushes, the writer takes all.
  alignas(2 * runtime::kCacheLineBytes) std::atomic<JournalBlock*> sealed_{nullptr};
  // The writer pushes, the worker takes all.
  alignas(2 * runtime::kCacheLineBytes) std::atomic<JournalBlock*> returned_{nullptr};
};

}  // namespace mxkv::server
