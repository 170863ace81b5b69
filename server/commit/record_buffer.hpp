// One worker's records that are not on disk yet.
//
// Records are appended under latches: append never fails and never waits. It allocates only if the worker has
// recorded more than a chunk in one round. All records of a block have one label. A block is *sealed*, that
// is handed to the writer, when it is full, when a value apart ends it, or at the end of a round in which the
// epoch moved on. The writer hands back written blocks. The worker takes them at the end of a round, and then
// drops their references on values apart, as only it may.
//
// Two lists connect worker and writer: stacks of one word, one each way. Each has one pusher, and one taker
// that takes all blocks at once.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "runtime/base/assert.hpp"
#include "runtime/base/cache_line.hpp"
#include "runtime/memory/memory_budget.hpp"
#include "server/commit/commit_epochs.hpp"
#include "server/commit/record.hpp"
#include "server/commit/record_block.hpp"

namespace mxkv::server {

/// Shared by the buffers of a journal. Thread-safety: any thread.
struct BufferShare {
  CommitEpochs* epochs = nullptr;
  runtime::MemoryBudget* budget = nullptr;  ///< chunks are charged to it as buffers, if there is one
  /// Bytes of sealed blocks that are not written. Relaxed: network and writer only compare it with limits.
  /// Workers add to it per block, not per record.
  alignas(2 * runtime::kCacheLineBytes) std::atomic<std::uint64_t> waiting_bytes{0};
};

/// Thread-safety: owner worker only, unless said otherwise.
class alignas(2 * runtime::kCacheLineBytes) RecordBuffer {
 public:
  explicit RecordBuffer(BufferShare& share) noexcept;
  /// Frees the remaining records. Neither the worker nor the writer runs any more.
  ~RecordBuffer();
  RecordBuffer(const RecordBuffer&) = delete;
  RecordBuffer& operator=(const RecordBuffer&) = delete;

  /// Sets the context for ApartClass::release(). Start-up only.
  void set_context(void* context) noexcept { context_ = context; }

  // Appending. The order of a record was minted in this round: see commit_epochs.hpp.

  /// Under the latch of the key, before the effect can be seen. For a value apart call put_apart().
  template <class R>
  void append(const R& record) noexcept {
    char* const out = room(encoded_bytes(record));
    at_ = write_record(out, record);
    ++records_;
  }
  /// `record.apart_bytes` is the length of the value. Takes over the reference.
  void put_apart(const PutRecord& record, const ApartValue& value) noexcept;

  /// Gives all records up to end_group() the current label, and marks them as a batch. Both calls are in one
  /// round.
  void begin_group() noexcept;
  void end_group() noexcept;

  // Rounds.

  /// Seals blocks with a label below `epoch`, and takes back written blocks.
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
  /// Whether the writer should look at this buffer: since the last call there was a new label, or a full
  /// block.
  [[nodiscard]] bool take_news() noexcept { return has_news_ && std::exchange(has_news_, false); }
  /// Greatest label of this worker's records; 0: none.
  [[nodiscard]] std::uint64_t last_label() const noexcept { return last_label_; }

  // The writer's side, one thread.

  /// Takes the sealed blocks, oldest first, linked by `next`; null: none. An epoch's blocks are all there
  /// when the worker's seat is above it.
  [[nodiscard]] RecordBlock* collect() noexcept;
  /// Returns the chain from `first` to `last`, which was written or given up.
  void give_back(RecordBlock* first, RecordBlock* last) noexcept;

 private:
  static constexpr std::size_t kMostSpare = 16;  ///< chunks to keep

  [[nodiscard]] char* room(std::size_t bytes) noexcept {
    // An epoch_ of 0 says that no block is open; it is no label.
    const std::uint64_t label = label_->load(std::memory_order_relaxed);
    if (label != epoch_ || bytes > static_cast<std::size_t>(end_ - at_)) [[unlikely]] {
      begin_block(label);
    }
    return at_;
  }
  void put_mark(batch_mark mark) noexcept;
  [[gnu::noinline, gnu::cold]] void begin_block(std::uint64_t label) noexcept;
  [[gnu::noinline, gnu::cold]] void seal() noexcept;
  [[gnu::noinline]] void refill() noexcept;
  void take_back() noexcept;
  void leave_chunk() noexcept;
  void keep(RecordChunk* chunk) noexcept;
  [[nodiscard]] RecordChunk* allocate() noexcept;
  void release(RecordChunk* chunk) noexcept;

  const std::atomic<std::uint64_t>* label_;  ///< the current epoch, or group_label_ in a group
  std::uint64_t epoch_ = 0;                  ///< of the open block; 0: there is none
  char* at_ = nullptr;                       ///< the place of the next record
  char* end_ = nullptr;                      ///< of the chunk
  std::uint32_t records_ = 0;                ///< in the open block; marks are none
  RecordBlock* block_ = nullptr;             ///< the open block
  RecordChunk* chunk_ = nullptr;             ///< the chunk of new blocks
  char* chunk_at_ = nullptr;                 ///< the place of the next block
  RecordChunk* spare_ = nullptr;
  std::size_t spares_ = 0;
  std::uint64_t last_label_ = 0;
  bool has_news_ = false;
  std::atomic<std::uint64_t> group_label_{0};  // owner worker only; atomic since label_ points to it
  BufferShare* share_;
  void* context_ = nullptr;

  // The worker pushes, the writer takes all.
  alignas(2 * runtime::kCacheLineBytes) std::atomic<RecordBlock*> sealed_{nullptr};
  // The writer pushes, the worker takes all.
  alignas(2 * runtime::kCacheLineBytes) std::atomic<RecordBlock*> returned_{nullptr};
};

}  // namespace mxkv::server
