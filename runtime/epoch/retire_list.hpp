// Retired objects of one worker, oldest first, waiting for the horizon to pass their stamp.
//
// Entries sit in blocks of the worker's task heap, so retiring allocates nothing from the system. An entry
// is one word: the address and the index of the function that frees it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/epoch/epoch_manager.hpp"

namespace mxkv::runtime {

class Worker;

/// What kind of memory a retired object is: index into the runtime's table of reclaim functions.
using ReclaimKind = StrongId<struct ReclaimKindTag, std::uint8_t>;

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

  /// Adds an object with its stamp (EpochManager::retire_stamp). `bytes`: what freeing it will give back.
  void add(void* object, ReclaimKind kind, std::uint64_t stamp, std::size_t bytes);

  [[nodiscard]] bool empty() const noexcept { return entries_ == 0; }
  [[nodiscard]] std::size_t entries() const noexcept { return entries_; }
  /// Bytes retired since the last call of reset_bytes(): what a threshold is compared to.
  [[nodiscard]] std::size_t bytes_since_advance() const noexcept { return bytes_since_advance_; }
  void reset_bytes() noexcept { bytes_since_advance_ = 0; }

  /// Frees what is stamped below `horizon`, a block at a time until `most` objects are freed, and returns how
  /// many it freed. The reclaim functions may retire further objects.
  std::size_t reclaim(std::uint64_t horizon, std::size_t most, const ReclaimFunction* functions,
                      Worker& worker);

 private:
  struct Block {
    Block* next;
    std::uint64_t stamp;  ///< of the youngest entry: the block's entries go together
    std::uint32_t count;
    std::uint32_t bytes;
    static constexpr std::size_t kCapacity = (kBlockBytes - 24) / 8;
    std::uint64_t entries[kCapacity];
  };
  static_assert(sizeof(Block) == kBlockBytes);

  RetireBlockSource& blocks_;
  Block* head_ = nullptr;
  Block* tail_ = nullptr;
  std::size_t entries_ = 0;
  std::size_t bytes_since_advance_ = 0;
};

}  // namespace mxkv::runtime
