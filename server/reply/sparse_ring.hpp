// Entries by sequence number, for the few that are out of order: a ring in a borrowed block.
//
// Replies and commits mostly come in order, and then need no entry. So the ring takes its memory with the
// first entry in use, and gives it back with the last. An idle ring has no memory.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "runtime/base/assert.hpp"
#include "server/reply/block_pool.hpp"

namespace mxkv::server {

/// A T that equals T{} is an unused entry. Sequence numbers wrap; all in use lie within span_ of a base that
/// the caller knows. Thread-safety: owner worker only.
template <class T>
class SparseRing {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  explicit SparseRing(BlockPool& pool) noexcept : pool_(&pool) {}
  ~SparseRing() { give_back(); }
  SparseRing(const SparseRing&) = delete;
  SparseRing& operator=(const SparseRing&) = delete;

  [[nodiscard]] bool empty() const noexcept { return used_ == 0; }
  [[nodiscard]] std::size_t used() const noexcept { return used_; }

  /// The entry of `seq`, or null if it is unused. `base`: the smallest sequence number that may be in use.
  [[nodiscard]] T* find(std::uint32_t seq, std::uint32_t base) noexcept {
    if (used_ == 0 || seq - base >= span_) {
      return nullptr;
    }
    T& entry = entries()[seq & (span_ - 1)];
    return entry == T{} ? nullptr : &entry;
  }

  /// Puts an entry that differs from T{} in the unused place of `seq`.
  T& put(std::uint32_t seq, std::uint32_t base, T value) {
    if (seq - base >= span_) [[unlikely]] {
      grow(seq - base + 1, base);
    }
    T& entry = entries()[seq & (span_ - 1)];
    MXKV_DCHECK(entry == T{} && !(value == T{}), "an entry is put once");
    entry = value;
    ++used_;
    return entry;
  }

  /// Takes out the entry of `seq`, which is in use.
  T take(std::uint32_t seq) noexcept {
    const T value = std::exchange(entries()[seq & (span_ - 1)], T{});
    MXKV_DCHECK(!(value == T{}), "only what was put is taken");
    if (--used_ == 0) {
      give_back();
    }
    return value;
  }

 private:
  static constexpr std::uint32_t kLeastSpan = 32;

  [[nodiscard]] T* entries() noexcept { return reinterpret_cast<T*>(block_->data()); }

  void grow(std::uint32_t least, std::uint32_t base) {
    const std::uint32_t span = std::bit_ceil(least < kLeastSpan ? kLeastSpan : least);
    MXKV_ASSERT(span > span_, "a ring grows when it is too small");
    Segment* const block = pool_->take_reply_block(span * sizeof(T));
    T* const to = reinterpret_cast<T*>(block->data());
    for (std::uint32_t i = 0; i < span; ++i) {
      new (to + i) T{};
    }
    for (std::uint32_t i = 0; i < span_; ++i) {
      to[(base + i) & (span - 1)] = entries()[(base + i) & (span_ - 1)];
    }
    if (block_ != nullptr) {
      pool_->give(block_);
    }
    block_ = block;
    span_ = span;
  }

  void give_back() noexcept {
    if (block_ != nullptr) {
      pool_->give(std::exchange(block_, nullptr));
      span_ = 0;
    }
  }

  BlockPool* pool_;
  Segment* block_ = nullptr;
  std::uint32_t span_ = 0;  ///< a power of two, or 0 without a block
  std::size_t used_ = 0;
};

}  // namespace mxkv::server
