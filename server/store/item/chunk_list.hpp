// Large values: a reference-counted list of reference-counted chunks.
//
// A value above kInlineValueBytes is not in its item but in chunks of up to 16 KiB, which are allocated as
// the data arrives. An append makes a new list that shares the old chunks. A reply that is being sent holds a
// reference on the list, so the value may leave the tree meanwhile; its memory then counts as referenced, no
// longer as an item's. A list is complete and constant before any task but its builder sees it.
//
// A long list is freed in parts of kFreedAtOnce chunks, one part a run of the reclaimer, so that the end of a
// value of a gibibyte holds up nobody.
//
// Thread-safety: only the builder's worker uses a list under construction. Later any worker takes references,
// while pinned, and drops them; the last drop frees the list.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string_view>

#include "runtime/scheduler/worker.hpp"

namespace mxkv::server {

/// One piece of a value. The bytes follow the header.
struct Chunk {
  static constexpr std::size_t kBlockBytes = std::size_t{16} << 10U;
  static constexpr std::size_t kHeaderBytes = 16;
  static constexpr std::size_t kMaxBytes = kBlockBytes - kHeaderBytes;

  std::atomic<std::uint32_t> references{1};
  std::uint32_t bytes = 0;     ///< filled
  std::uint32_t capacity = 0;  ///< room

  [[nodiscard]] char* data() noexcept { return reinterpret_cast<char*>(this) + kHeaderBytes; }
  [[nodiscard]] const char* data() const noexcept {
    return reinterpret_cast<const char*>(this) + kHeaderBytes;
  }
};
static_assert(sizeof(Chunk) <= Chunk::kHeaderBytes);

class ChunkList {
 public:
  static constexpr std::uint32_t kFreedAtOnce = 256;

  /// Frees a part of a list that nobody holds, and retires the rest. The runtime of every store registers it.
  static void free_part(runtime::Worker& worker, void* list) noexcept;

  /// An empty list with room for some chunks; null: out of memory.
  [[nodiscard]] static ChunkList* create(runtime::Worker& worker, std::uint32_t capacity) noexcept;

  // Each of these may move the list, and changes `list` then. False: out of memory; the bytes added so far
  // stay.

  /// Adds a chunk with room for `wanted` bytes, at most Chunk::kMaxBytes. Builder only.
  [[nodiscard]] static bool grow(runtime::Worker& worker, ChunkList*& list, std::size_t wanted) noexcept;
  /// Adds the chunks of `other`, shared; a last chunk that is mostly empty is copied, so that many small
  /// appends do not make many small chunks.
  [[nodiscard]] static bool share(runtime::Worker& worker, ChunkList*& list, const ChunkList& other) noexcept;
  /// Adds a copy of `bytes`, into the last chunk if it is this list's own and has room.
  [[nodiscard]] static bool append(runtime::Worker& worker, ChunkList*& list,
                                   std::string_view bytes) noexcept;

  /// Room at the end of the last chunk. Builder only; the last chunk must not be shared.
  [[nodiscard]] std::span<char> space() noexcept {
    if (count_ == 0 || shared_tail_) {
      return {};
    }
    Chunk& last = *chunks()[count_ - 1];
    return {last.data() + last.bytes, last.capacity - last.bytes};
  }
  void fill(std::size_t bytes) noexcept {
    MXKV_DCHECK(bytes <= space().size(), "what is filled is room of this list alone");
    chunks()[count_ - 1]->bytes += static_cast<std::uint32_t>(bytes);
    bytes_ += bytes;
  }

  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::span<Chunk* const> pieces() const noexcept { return {chunks(), count_}; }
  /// Memory of the list and its chunks, shared ones counted fully.
  [[nodiscard]] std::size_t memory_bytes() const noexcept {
    return bytes_ + std::size_t{count_} * (sizeof(Chunk*) + Chunk::kHeaderBytes) + sizeof(ChunkList);
  }

  /// Takes an item's reference. The caller is pinned, or holds a reference.
  void reference() noexcept {
    [[maybe_unused]] const std::uint64_t before = references_.fetch_add(kItem, std::memory_order_relaxed);
    MXKV_DCHECK(before > 0, "a list that an item takes is held already");
  }
  /// Drops an item's reference; the last of all frees list and chunks into `worker`'s heap.
  static void drop(runtime::Worker& worker, ChunkList* list) noexcept { drop(worker, list, kItem); }
  /// The same for a reply.
  void reference_by_reply() noexcept {
    [[maybe_unused]] const std::uint64_t before = references_.fetch_add(kReply, std::memory_order_relaxed);
    MXKV_DCHECK(before > 0, "a list that a reply takes is held already");
  }
  static void drop_by_reply(runtime::Worker& worker, ChunkList* list) noexcept { drop(worker, list, kReply); }

 private:
  explicit ChunkList(std::uint32_t capacity) noexcept : capacity_(capacity) {}
  [[nodiscard]] Chunk** chunks() noexcept { return reinterpret_cast<Chunk**>(this + 1); }
  [[nodiscard]] Chunk* const* chunks() const noexcept { return reinterpret_cast<Chunk* const*>(this + 1); }
  [[nodiscard]] static bool reserve(runtime::Worker& worker, ChunkList*& list, std::uint32_t more) noexcept;

  // The lower half counts references of items, the upper half references of replies.
  static constexpr std::uint64_t kItem = 1;
  static constexpr std::uint64_t kReply = std::uint64_t{1} << 32U;
  static void drop(runtime::Worker& worker, ChunkList* list, std::uint64_t whose) noexcept;

  std::atomic<std::uint64_t> references_{kItem};
  std::uint32_t count_ = 0;
  std::uint32_t capacity_;
  bool shared_tail_ = false;  ///< the last chunk belongs to another list, too
  std::uint64_t bytes_ = 0;
};
static_assert(sizeof(ChunkList) == 32);

}  // namespace mxkv::server
