// Memory of one worker's connections: blocks for replies or for waiting input, and the small headers of
// values sent by reference.
//
// A block has 16 KiB; one of a waiting connection has 1 KiB. Both are recycled last in, first out, so that
// the block in use is in the core's cache; after warm-up there is no malloc. Every block and header counts in
// the memory budget while it exists, and against the worker's share while it is in use. Even when both are
// exhausted a reply must be possible (it says so), so the charge is made without asking. Sessions ask the
// share before they take requests. If their estimates were far too low, the pool calls PoolOverflow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "runtime/base/assert.hpp"
#include "runtime/memory/memory_budget.hpp"
#include "server/reply/memory_share.hpp"

namespace mxkv::server {

/// A reference that keeps bytes alive until they are sent. `release(context, object)` drops it.
struct OwnerRef {
  void* object = nullptr;
  void* context = nullptr;
  void (*release)(void* context, void* object) noexcept = nullptr;
  /// For an object in pieces: returns an existing piece.
  std::string_view (*piece)(const void* object, std::uint32_t index) noexcept = nullptr;
};

/// A part of the output, and the header of the block with its bytes. If an owner has the bytes, it is only a
/// header.
struct Segment {
  Segment* next = nullptr;
  const char* begin = nullptr;  ///< first unsent byte
  char* end = nullptr;          ///< past the last filled byte, or the end of the current piece
  char* limit = nullptr;        ///< past the last byte of room; of a block only
  OwnerRef owner{};             ///< of an owned segment
  Segment* slice_of = nullptr;  ///< of an owned segment without owner: the block with its bytes
  std::size_t behind = 0;       ///< of an owned segment in pieces: bytes of the later pieces
  std::uint32_t next_piece = 0;
  std::uint32_t users = 0;  ///< count kept by the user of a block
  bool charged = true;      ///< to the account, else directly to the budget
  bool owned = false;

  [[nodiscard]] char* data() noexcept { return reinterpret_cast<char*>(this + 1); }
  [[nodiscard]] std::size_t room() const noexcept { return static_cast<std::size_t>(limit - end); }
  [[nodiscard]] std::size_t unsent() const noexcept { return static_cast<std::size_t>(end - begin) + behind; }
  /// Whether the bytes belong to an owner.
  [[nodiscard]] bool refers() const noexcept { return owner.release != nullptr; }
  /// Drops the first `bytes` of `unsent()`.
  void consume(std::size_t bytes) noexcept;
};

/// Called when much more is in use than a pool's share. Thread-safety: owner worker only.
class PoolOverflow {
 public:
  PoolOverflow() = default;
  PoolOverflow(const PoolOverflow&) = delete;
  PoolOverflow& operator=(const PoolOverflow&) = delete;

  /// Called from within any function that takes a block.
  virtual void overflowed() noexcept = 0;

 protected:
  ~PoolOverflow() = default;
};

/// Thread-safety: owner worker only.
class BlockPool {
 public:
  static constexpr std::size_t kBlockBytes = std::size_t{16} << 10U;
  static constexpr std::size_t kBlockRoom = kBlockBytes - sizeof(Segment);
  static constexpr std::size_t kSmallBlockBytes = std::size_t{1} << 10U;
  static constexpr std::size_t kSmallBlockRoom = kSmallBlockBytes - sizeof(Segment);
  static constexpr std::size_t kFreeBlocks = 128;       ///< most free blocks to keep, if the share is large
                                                        ///< enough
  static constexpr std::size_t kFreeSmallBlocks = 256;  ///< most free blocks to keep
  static constexpr std::size_t kFreeSegments = 512;     ///< most free headers to keep
  static constexpr std::size_t kOwnedBytes =
      sizeof(Segment) + 16;  ///< with the overhead of the system's heap

  /// `parts`: the share is one in so many parts of the budget's limit.
  BlockPool(runtime::MemoryBudget& budget, runtime::MemoryAccount& account,
            runtime::memory_category category = runtime::memory_category::output,
            std::size_t parts = 1) noexcept
      : budget_(&budget), account_(&account), category_(category), share_(budget, parts) {}
  ~BlockPool();
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  /// An empty block with at least `bytes` of room. Throws std::bad_alloc when the system has no memory.
  [[nodiscard]] Segment* take_block(std::size_t bytes) {
    if (bytes <= kBlockRoom && blocks_.first != nullptr) [[likely]] {
      return take_free(blocks_, kBlockBytes);
    }
    return new_block(bytes <= kBlockRoom ? kBlockBytes : bytes + sizeof(Segment));
  }
  /// The smallest block with room for `bytes`, for data that stays long.
  [[nodiscard]] Segment* take_snug_block(std::size_t bytes) {
    if (bytes > kSmallBlockRoom) {
      return share_.is_crowded() ? new_block(snug_bytes(bytes)) : take_block(bytes);
    }
    return small_blocks_.first != nullptr ? take_free(small_blocks_, kSmallBlockBytes)
                                          : new_block(kSmallBlockBytes);
  }

  /// A block for replies: a large one, or a small one if so many connections have blocks that they must be
  /// small.
  [[nodiscard]] Segment* take_reply_block(std::size_t bytes) {
    return share_.is_crowded() ? take_snug_block(bytes) : take_block(bytes);
  }

  /// A segment for `bytes` at `data`, which `owner` keeps alive.
  [[nodiscard]] Segment* take_owned(const char* data, std::size_t bytes, OwnerRef owner);

  /// A segment for all pieces of `owner`, which have `bytes` together, more than 0.
  [[nodiscard]] Segment* take_owned_pieces(std::size_t bytes, OwnerRef owner);

  /// A segment for bytes that will be written in `block` from `begin` on. The caller counts the users.
  [[nodiscard]] Segment* take_slice(Segment& block, char* begin);

  /// Takes back a block; or an owned segment, whose owner it releases.
  void give(Segment* segment) noexcept {
    if (!segment->owned && blocks_.count < most_free() && block_bytes(*segment) == kBlockBytes) [[likely]] {
      give_free(blocks_, segment, kBlockBytes);
      return;
    }
    give_rest(segment);
  }

  [[nodiscard]] std::size_t free_blocks() const noexcept { return blocks_.count; }
  [[nodiscard]] MemoryShare& share() noexcept { return share_; }

  /// `overflow` outlives this.
  void set_overflow(PoolOverflow* overflow) noexcept { overflow_ = overflow; }

 private:
  /// The free blocks of one size.
  struct FreeList {
    Segment* first = nullptr;
    std::size_t count = 0;
  };

  static std::size_t block_bytes(const Segment& block) noexcept {
    return static_cast<std::size_t>(block.limit - reinterpret_cast<const char*>(&block));
  }
  [[nodiscard]] Segment* take_free(FreeList& list, std::size_t whole) noexcept {
    Segment* const block = list.first;
    MXKV_DCHECK(list.count > 0 && !block->owned, "a list of free blocks holds blocks, and counts them");
    list.first = block->next;
    --list.count;
    share_.take(whole);
    block->next = nullptr;
    block->begin = block->end = block->data();
    block->users = 0;
    return block;
  }
  void give_free(FreeList& list, Segment* block, std::size_t whole) noexcept {
    MXKV_DCHECK(!block->owned && block->limit == reinterpret_cast<char*>(block) + whole,
                "blocks of one list have one size");
    share_.give(whole);
    block->next = list.first;
    list.first = block;
    ++list.count;
  }
  /// Most free blocks to keep: other workers cannot use them.
  [[nodiscard]] std::size_t most_free() const noexcept {
    return std::min(kFreeBlocks, share_.bytes() / (8 * kBlockBytes));
  }
  /// Rounded up, so that the system's heap can reuse such blocks.
  [[nodiscard]] static constexpr std::size_t snug_bytes(std::size_t bytes) noexcept {
    return (bytes + sizeof(Segment) + kSmallBlockBytes - 1) / kSmallBlockBytes * kSmallBlockBytes;
  }
  [[nodiscard]] Segment* new_block(std::size_t whole);
  [[nodiscard]] Segment* new_header();
  [[nodiscard]] bool charge(std::size_t bytes) noexcept;
  void refund(bool charged, std::size_t bytes) noexcept;
  void give_rest(Segment* segment) noexcept;
  void give_header(Segment* segment) noexcept;
  void free_block(Segment* block) noexcept;
  void free_header(Segment* segment) noexcept;

  runtime::MemoryBudget* budget_;
  runtime::MemoryAccount* account_;
  runtime::memory_category category_;
  MemoryShare share_;
  FreeList blocks_;
  FreeList small_blocks_;
  FreeList headers_;
  PoolOverflow* overflow_ = nullptr;  ///< null: no one is called
};

}  // namespace mxkv::server
