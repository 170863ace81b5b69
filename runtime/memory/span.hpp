// The headers of 64 KiB of value memory (Span) and of 2 MiB of it (Superblock).
//
// Both live in dense tables outside the data, found by subtraction and shift from a block's address:
//
//   data    | superblock 0: span 0 | span 1 | ... | span 31 | superblock 1: span 32 | ...
//   spans   | Span 0 | Span 1 | ...                    64 bytes each, 0.1 % of the data
//   supers  | Superblock 0 | ...
//
// So blocks need no header, and nodes and lines keep their alignment. At the start of each 64 KiB, the
// headers of many spans would fall into the same cache sets.
//
// While a span holds a live block only its owner writes it, and owner, block_bytes and base do not change;
// the holder of the block may read those three, since the block came to it by way of the owner.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "runtime/base/assert.hpp"
#include "runtime/base/cache_line.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/memory/size_classes.hpp"

namespace mxkv::runtime {

class ValueHeap;

namespace detail {

inline constexpr std::uint32_t kSpansPerSuperblock = 32;
inline constexpr std::size_t kSuperblockBytes = kSpansPerSuperblock * kSpanBytes;

/// How full a span is that is not the current one of its class: the index of the list it is in.
inline constexpr std::uint8_t kFullnessLists = 4;  ///< list 3: at least three quarters live, but not all
inline constexpr std::uint8_t kNotListed = 0xFF;   ///< current, full, or large

/// Live count at which a span is looked at again; this value: never.
inline constexpr std::uint32_t kNoThreshold = UINT32_MAX;

struct alignas(kCacheLineBytes) Span {
  void* free = nullptr;        ///< blocks that were released, LIFO
  std::byte* base = nullptr;   ///< first block
  ValueHeap* owner = nullptr;  ///< nullptr: a large block, released by any worker
  Span* previous = nullptr;    ///< in the owner's list of its fullness
  Span* next = nullptr;
  std::uint32_t bump = 0;      ///< bytes from base: blocks from here on were never given out
  std::uint32_t bump_end = 0;  ///< capacity * block_bytes
  std::uint32_t live = 0;      ///< blocks given out, blocks in recollection bins included
  std::uint32_t threshold = kNoThreshold;
  std::uint32_t block_bytes = 0;
  std::uint16_t span_count = 0;  ///< spans of this block: above one only if large
  std::uint8_t size_class = 0;
  std::uint8_t list = kNotListed;

  [[nodiscard]] std::uint32_t capacity() const noexcept { return bump_end / block_bytes; }
};
static_assert(sizeof(Span) == kCacheLineBytes, "the table is 1/1024 of the data");
static_assert(std::is_trivially_destructible_v<Span>);

struct Superblock {
  std::uint32_t free_spans = 0;   ///< bit i: span i is free
  std::uint32_t clean_spans = 0;  ///< the free spans without pages: they read as zero
  std::uint8_t list = 0;          ///< list of the pool it is in
  std::uint8_t released = 0;      ///< first of the spans that were released last; free or not
  NumaNodeId node;
  Superblock* previous = nullptr;
  Superblock* next = nullptr;
};
static_assert(std::is_trivially_destructible_v<Superblock>);

/// Has the links of a LinkedList.
template <class T>
concept Linked = requires(T& element) {
  { element.previous } -> std::same_as<T*&>;
  { element.next } -> std::same_as<T*&>;
};

/// Intrusive doubly linked list of spans or superblocks. Thread-safety: owner only.
template <Linked T>
class LinkedList {
 public:
  [[nodiscard]] T* front() const noexcept { return front_; }
  [[nodiscard]] bool empty() const noexcept { return front_ == nullptr; }
  void push(T* element) noexcept {
    MXKV_DCHECK(element != front_, "an element is in a list once");
    element->previous = nullptr;
    element->next = front_;
    if (front_ != nullptr) {
      front_->previous = element;
    }
    front_ = element;
  }
  void remove(T* element) noexcept {
    MXKV_ASSERT(element->previous != nullptr ? element->previous->next == element : front_ == element,
                "an element is taken off the list that it is in");
    (element->previous != nullptr ? element->previous->next : front_) = element->next;
    if (element->next != nullptr) {
      element->next->previous = element->previous;
    }
  }

 private:
  T* front_ = nullptr;
};

}  // namespace detail
}  // namespace mxkv::runtime
