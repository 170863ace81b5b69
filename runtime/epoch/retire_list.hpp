// Retired objects of one worker, oldest first, waiting for the horizon to pass their stamp.
//
// Entries sit in blocks of the worker's task heap, so retiring allocates nothing from the system. An entry
// is one word: the address and the index of the function that frees it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/base/assert.hpp"
#include "runtime/epoch/epoch_manager.hpp"

namespace mxkv::runtime {

class Worker;

/// The kind of a retired object's memory: an index into the runtime's table of reclaim functions.
using ReclaimKind = StrongId<struct ReclaimKindTag, std::uint8_t>;

/// How much a list frees at once. It stops behind the block of entries that reaches either bound.
struct ReclaimBound {
  std::size_t objects;
  std::size_t bytes;
  [[nodiscard]] static constexpr ReclaimBound none() noexcept { return {~std::size_t{0}, ~std::size_t{0}}; }
};

/// Frees one retired object. Runs on the worker that retired it.
using ReclaimFunction = void (*)(Worker&, void*);

/// Where a list gets the blocks for its entries from.
class RetireBlockSource {
 public:
  virtual ~RetireBlockSource() = default;
  /// A block of RetireList::kBlockBytes, 8-byte aligned; never fails.
  virtual void* allocate_retire_block() = 0;
  virtual void release_retire_block(void* block) noexcept = 0;
};

/// Thread-safety: owner worker only.
class RetireList {
 public:
  static constexpr std::size_t kBlockBytes = 384;

  explicit RetireList(RetireBlockSource& blocks) noexcept : blocks_(blocks) {}
  RetireList(const RetireList&) = delete;
  RetireList& operator=(const RetireList&) = delete;
  ~RetireList();

  /// Adds an object with its stamp (EpochManager::retire_stamp). `bytes`: the memory that freeing it gives back.
  void add(void* object, ReclaimKind kind, std::uint64_t stamp, std::size_t bytes) {
    MXKV_DCHECK(object != nullptr, "an object is retired");
    if (tail_ == nullptr || tail_->stamp != stamp || tail_->count == Block::kCapacity) [[unlikely]] {
      begin_block(stamp);
    }
    const auto address = reinterpret_cast<std::uint64_t>(object);
    MXKV_DCHECK((address & ~kAddressMask) == 0, "user addresses have 48 bits");
    tail_->entries[tail_->count++] = address | (std::uint64_t{kind.value()} << kKindShift);
    ++entries_;
    retired_bytes_ += bytes;
  }

  [[nodiscard]] bool empty() const noexcept { return entries_ == 0; }
  [[nodiscard]] std::size_t entries() const noexcept { return entries_; }
  /// Bytes that wait to be freed.
  [[nodiscard]] std::size_t bytes() const noexcept { return retired_bytes_ - freed_bytes_; }
  /// Bytes retired since the last call of reset_bytes(), to be compared with a threshold.
  [[nodiscard]] std::size_t bytes_since_advance() const noexcept { return retired_bytes_ - advanced_at_; }
  void reset_bytes() noexcept { advanced_at_ = retired_bytes_; }

  /// Frees the objects stamped below `horizon`, a block at a time until `most` is reached, and returns how many
  /// it freed. The reclaim functions may retire further objects.
  std::size_t reclaim(std::uint64_t horizon, ReclaimBound most, const ReclaimFunction* functions,
                      Worker& worker);
  /// Whether there are objects stamped below `horizon`.
  [[nodiscard]] bool any_below(std::uint64_t horizon) const noexcept {
    return head_ != nullptr && head_->stamp < horizon;
  }

 private:
  struct Block {
    Block* next;
    std::uint64_t stamp;  ///< of the youngest entry: the block's entries go together
    std::size_t before;   ///< bytes that were retired before the first entry, ever
    std::uint64_t count;
    static constexpr std::size_t kCapacity = (kBlockBytes - 32) / 8;
    std::uint64_t entries[kCapacity];
  };
  static_assert(sizeof(Block) == kBlockBytes);
  // An entry: the kind above the address.
  static constexpr unsigned kKindShift = 48;
  static constexpr std::uint64_t kAddressMask = (std::uint64_t{1} << kKindShift) - 1;

  [[gnu::noinline]] void begin_block(std::uint64_t stamp);

  RetireBlockSource& blocks_;
  Block* head_ = nullptr;
  Block* tail_ = nullptr;
  std::size_t entries_ = 0;
  std::size_t retired_bytes_ = 0;  ///< ever; only differences count
  std::size_t freed_bytes_ = 0;    ///< ever
  std::size_t advanced_at_ = 0;    ///< retired_bytes_ at the last reset_bytes()
};

}  // namespace mxkv::runtime
