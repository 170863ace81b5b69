// Memory of one worker's connections: blocks of 16 KiB for replies, or for input that waits, and the small
// headers of values sent by reference.
//
// Blocks are recycled last in, first out, so that the one in use is in the core's cache; after warm-up there
// is no malloc. Every block counts in the memory budget while it exists. A reply must be possible when the
// budget is exhausted, too (it says so), so then the charge is made without asking; what bounds it is that a
// connection with much unsent output is not read.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/memory/memory_budget.hpp"

namespace mxkv::server {

/// A reference that keeps bytes alive until they were sent. `release(context, object)` lets go of it.
struct OwnerRef {
  void* object = nullptr;
  void* context = nullptr;
  void (*release)(void* context, void* object) noexcept = nullptr;
};

/// A piece of output, and header of the block that holds it; of an owned one, only the header exists.
struct Segment {
  Segment* next = nullptr;
  const char* begin = nullptr;  ///< first unsent byte
  char* end = nullptr;          ///< past the last filled byte
  char* limit = nullptr;        ///< past the last byte of room; a block only
  OwnerRef owner{};             ///< of an owned segment
  Segment* slice_of = nullptr;  ///< of an owned segment without owner: the block that its bytes are in
  std::uint32_t users = 0;      ///< for the user of a block
  bool charged = true;          ///< to the account, else directly to the budget
  bool owned = false;

  [[nodiscard]] char* data() noexcept { return reinterpret_cast<char*>(this + 1); }
  [[nodiscard]] std::size_t room() const noexcept { return static_cast<std::size_t>(limit - end); }
  [[nodiscard]] std::size_t unsent() const noexcept { return static_cast<std::size_t>(end - begin); }
};

/// Thread-safety: owner worker only.
class BlockPool {
 public:
  static constexpr std::size_t kBlockBytes = std::size_t{16} << 10U;
  static constexpr std::size_t kBlockRoom = kBlockBytes - sizeof(Segment);
  static constexpr std::size_t kFreeBlocks = 128;  ///< most that are kept

  BlockPool(runtime::MemoryBudget& budget, runtime::MemoryAccount& account,
            runtime::memory_category category = runtime::memory_category::output) noexcept
      : budget_(&budget), account_(&account), category_(category) {}
  ~BlockPool();
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  /// An empty block with room for `bytes` at least. Throws std::bad_alloc when the system has no memory.
  [[nodiscard]] Segment* take_block(std::size_t bytes) {
    if (bytes <= kBlockRoom && free_blocks_ != nullptr) [[likely]] {
      Segment* const block = free_blocks_;
      free_blocks_ = block->next;
      --free_count_;
      block->next = nullptr;
      block->begin = block->end = block->data();
      block->users = 0;
      return block;
    }
    return new_block(bytes);
  }

  /// A segment for `bytes` at `data`, kept by `owner`.
  [[nodiscard]] Segment* take_owned(const char* data, std::size_t bytes, OwnerRef owner);

  /// A segment for what is going to be filled in `block` from `begin` on. The caller counts the users.
  [[nodiscard]] Segment* take_slice(Segment& block, char* begin);

  /// Takes back a block, or an owned segment after releasing its owner.
  void give(Segment* segment) noexcept {
    if (!segment->owned && free_count_ < kFreeBlocks && block_bytes(*segment) == kBlockBytes) [[likely]] {
      segment->next = free_blocks_;
      free_blocks_ = segment;
      ++free_count_;
      return;
    }
    give_rest(segment);
  }

  [[nodiscard]] std::size_t free_blocks() const noexcept { return free_count_; }

 private:
  static std::size_t block_bytes(const Segment& block) noexcept {
    return static_cast<std::size_t>(block.limit - reinterpret_cast<const char*>(&block));
  }
  [[nodiscard]] Segment* new_block(std::size_t bytes);
  void give_rest(Segment* segment) noexcept;
  void free_block(Segment* block) noexcept;

  runtime::MemoryBudget* budget_;
  runtime::MemoryAccount* account_;
  runtime::memory_category category_;
  Segment* free_blocks_ = nullptr;
  Segment* free_owned_ = nullptr;
  std::size_t free_count_ = 0;
};

}  // namespace mxkv::server
