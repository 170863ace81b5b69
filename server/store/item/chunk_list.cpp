#include "server/store/item/chunk_list.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "runtime/scheduler/runtime.hpp"

namespace mxkv::server {

namespace {
constexpr std::size_t list_bytes(std::size_t capacity) noexcept {
  return sizeof(ChunkList) + capacity * sizeof(Chunk*);
}
}  // namespace

ChunkList* ChunkList::create(runtime::Worker& worker, std::uint32_t capacity) noexcept {
  void* memory = worker.items().allocate(list_bytes(capacity));
  return memory == nullptr ? nullptr : new (memory) ChunkList(capacity);
}

bool ChunkList::reserve(runtime::Worker& worker, ChunkList*& list, std::uint32_t more) noexcept {
  if (list->count_ + more <= list->capacity_) {
    return true;
  }
  MXKV_ASSERT(list->references_.load(std::memory_order_relaxed) == kItem,
              "a list that others see stays where it is");
  ChunkList* larger = create(worker, std::max(list->capacity_ * 2, list->count_ + more));
  if (larger == nullptr) {
    return false;
  }
  std::copy_n(list->chunks(), list->count_, larger->chunks());
  larger->count_ = list->count_;
  larger->bytes_ = list->bytes_;
  larger->shared_tail_ = list->shared_tail_;
  worker.items().release(list);
  list = larger;
  return true;
}

bool ChunkList::grow(runtime::Worker& worker, ChunkList*& list, std::size_t wanted) noexcept {
  MXKV_ASSERT(wanted > 0, "a chunk has room for something");
  if (!reserve(worker, list, 1)) {
    return false;
  }
  const std::size_t capacity = std::min(wanted, Chunk::kMaxBytes);
  void* memory = worker.items().allocate(Chunk::kHeaderBytes + capacity);
  if (memory == nullptr) {
    return false;
  }
  MXKV_ASSERT(list->count_ < list->capacity_, "there is a place for the chunk");
  auto* chunk = new (memory) Chunk;
  chunk->capacity = static_cast<std::uint32_t>(capacity);
  list->chunks()[list->count_++] = chunk;
  list->shared_tail_ = false;
  return true;
}

bool ChunkList::share(runtime::Worker& worker, ChunkList*& list, const ChunkList& other) noexcept {
  MXKV_ASSERT(list != &other, "a list shares the chunks of another");
  if (!reserve(worker, list, other.count_)) {
    return false;
  }
  for (Chunk* chunk : other.pieces()) {
    if (chunk == other.chunks()[other.count_ - 1] && chunk->bytes < Chunk::kMaxBytes / 2) {
      return grow(worker, list, Chunk::kMaxBytes) && append(worker, list, {chunk->data(), chunk->bytes});
    }
    const std::uint32_t held = chunk->references.fetch_add(1, std::memory_order_relaxed);
    MXKV_ASSERT(held > 0, "pinned: a chunk that is shared is held already");
    list->chunks()[list->count_++] = chunk;
    list->bytes_ += chunk->bytes;
    list->shared_tail_ = true;
  }
  return true;
}

bool ChunkList::append(runtime::Worker& worker, ChunkList*& list, std::string_view bytes) noexcept {
  while (!bytes.empty()) {
    if (list->space().empty() && !grow(worker, list, bytes.size())) {
      return false;
    }
    const std::span<char> room = list->space();
    const std::size_t n = std::min(room.size(), bytes.size());
    std::memcpy(room.data(), bytes.data(), n);
    list->fill(n);
    bytes.remove_prefix(n);
  }
  return true;
}

void ChunkList::drop(runtime::Worker& worker, ChunkList* list, std::uint64_t whose) noexcept {
  using runtime::memory_category;
  const std::size_t bytes = list->memory_bytes();  // while the list surely exists
  // acq_rel: the last dropper frees what others have finished reading.
  const std::uint64_t held = list->references_.fetch_sub(whose, std::memory_order_acq_rel);
  MXKV_ASSERT((whose == kItem ? held % kReply : held / kReply) > 0, "what is dropped was taken");
  const std::uint64_t left = held - whose;
  if (left != 0) {
    if (whose == kItem && left % kReply == 0) {
      worker.account().move(memory_category::items, memory_category::referenced, bytes);
    }
    return;
  }
  if (whose == kReply) {
    worker.account().move(memory_category::referenced, memory_category::items, bytes);
  }
  free_part(worker, list);
}

void ChunkList::free_part(runtime::Worker& worker, void* dropped) noexcept {
  auto* const list = static_cast<ChunkList*>(dropped);
  const std::size_t most = std::min(list->count_, kFreedAtOnce);
  for (Chunk* chunk : list->pieces().last(most)) {
    list->bytes_ -= chunk->bytes;
    const std::uint32_t lists = chunk->references.fetch_sub(1, std::memory_order_acq_rel);
    MXKV_ASSERT(lists > 0, "a chunk is dropped once by each list");
    if (lists == 1) {
      worker.items().release(chunk);
    }
  }
  list->count_ -= static_cast<std::uint32_t>(most);
  if (list->count_ == 0) {
    worker.items().release(list);
    return;
  }
  worker.retire(list, worker.runtime().reclaim_kind(&free_part), list->memory_bytes());
}

}  // namespace mxkv::server
