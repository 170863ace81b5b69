#include "server/store/item/item.hpp"

#include <new>

#include "protocol/reply.hpp"

namespace mxkv::server {

Item::Item(const Shape& shape, Word state) noexcept
    : word_(state | static_cast<Word>(shape.key.size()) |
            (shape.large() ? 0U : static_cast<Word>(shape.value_bytes) << kValueShift)) {
  MXKV_DCHECK(shape.key.size() <= 0xFF, "the length of a key fits its field");
  MXKV_DCHECK(shape.marks <= kAllMarks, "marks fit their field");
  char* out = reinterpret_cast<char*>(this) + kOptionalOffset;
  if ((state & kHasFlags) != 0) {
    std::memcpy(out, &shape.flags, sizeof shape.flags);
    out += sizeof shape.flags;
  }
  if ((state & kHasExpiry) != 0) {
    // NOLINTNEXTLINE(clang-analyzer-cplusplus.PlacementNew): create() allocates what follows the item, too
    new (out) std::atomic<std::uint32_t>(shape.expiry);
    out += sizeof(std::uint32_t);
  }
  if ((state & kHasCas) != 0) {
    std::memcpy(out, &shape.cas, sizeof shape.cas);
    out += sizeof shape.cas;
  }
  MXKV_DCHECK(out == key().data(), "the key lies where it is read");
  std::memcpy(out, shape.key.data(), shape.key.size());
  if (shape.large()) {
    set_list(nullptr);
  }
}

Item* Item::create(runtime::Worker& worker, const Shape& shape) noexcept {
  const Word state =
      (shape.flags != 0 ? kHasFlags : 0U) | (shape.expiry != 0 || shape.expiry_field ? kHasExpiry : 0U) |
      (shape.large() ? kLarge : 0U) | (shape.cas_field ? kHasCas : 0U) | shape.marks << kMarkShift;
  std::size_t bytes = key_offset(state) + shape.key.size();
  bytes = shape.large() ? ((bytes + 7) & ~std::size_t{7}) + sizeof(ChunkList*) : bytes + shape.value_bytes;
  void* memory = worker.items().allocate_ahead(bytes);
  Item* const made = memory == nullptr ? nullptr : new (memory) Item(shape, state);
  MXKV_DCHECK(made == nullptr || made->block_bytes() == bytes, "an item ends where its block does");
  return made;
}

void Item::destroy(runtime::Worker& worker, Item* item) noexcept {
  if (item->large()) {
    if (ChunkList* list = item->list()) {
      ChunkList::drop(worker, list);
    }
  }
  worker.items().release(item);
}

std::size_t Item::rarer_memory_bytes() const noexcept {
  return block_bytes() + (large() && list() != nullptr ? list()->memory_bytes() : 0);
}

}  // namespace mxkv::server
