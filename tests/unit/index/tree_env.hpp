// The difference between test trees of 64-bit keys and of byte keys: owned keys, and the meaning of a leaf's
// value word.
//
// An environment gives: Traits; OwnedKey, a key that a test may keep; view(); word operations on the number
// that each entry carries (make, number, renumber before publication, dispose before, retire after
// publication).
#pragma once

#include <cstring>
#include <optional>
#include <string>

#include "index/update_task.hpp"
#include "runtime/scheduler/runtime.hpp"

namespace mxkv::index::testing {

/// 64-bit keys; the value word is the number.
template <class ShapeT = NodeShape<6, 6, 8, false>>
class IntegerEnv {
 public:
  using Traits = IntegerTraits<ShapeT>;
  using OwnedKey = std::uint64_t;

  explicit IntegerEnv(runtime::Runtime& /*runtime*/) {}
  static std::uint64_t view(OwnedKey key) noexcept { return key; }
  static OwnedKey key_of(std::uint64_t head, std::uint64_t /*word*/) noexcept { return head; }

  std::optional<std::uint64_t> make(runtime::Worker& /*worker*/, std::uint64_t /*key*/,
                                    std::uint64_t number) const noexcept {
    return number;
  }
  static std::uint64_t number(std::uint64_t word) noexcept { return word; }
  static void renumber(std::uint64_t& word, std::uint64_t number) noexcept { word = number; }
  static void touch(std::uint64_t /*word*/) noexcept {}
  void dispose(runtime::Worker& /*worker*/, std::uint64_t /*word*/) const noexcept {}
  void retire(runtime::Worker& /*worker*/, std::uint64_t /*word*/) const noexcept {}
};

/// The item that a leaf entry of a test's byte tree refers to. Key and number never change once it is in the
/// tree.
struct TestItem {
  std::atomic<std::uint64_t> touches{0};  ///< changed in place, under the leaf's latch; relaxed
  std::uint64_t number = 0;
  std::uint16_t key_bytes = 0;

  [[nodiscard]] static TestItem& of(std::uint64_t word) noexcept {
    return *reinterpret_cast<TestItem*>(word);
  }
  [[nodiscard]] KeyView key() const noexcept { return {reinterpret_cast<const char*>(this + 1), key_bytes}; }
};

struct TestRecord {
  static KeyView key(std::uint64_t word) noexcept { return TestItem::of(word).key(); }
  static void release(runtime::Worker& worker, std::uint64_t word) noexcept {
    worker.items().release(reinterpret_cast<void*>(word));
  }
  static unsigned lines(std::uint64_t /*word*/) noexcept { return 1; }
  static unsigned key_lines(std::uint64_t /*word*/, std::size_t /*key_bytes*/) noexcept { return 1; }
  static const void* address(std::uint64_t word) noexcept { return reinterpret_cast<const void*>(word); }
};

/// Byte keys; the value word is an item from the worker's item heap.
template <class ShapeT = NodeShape<6, 4, 8, true>>
class ByteEnv {
 public:
  using Traits = ByteTraits<TestRecord, ShapeT>;
  using OwnedKey = std::string;

  explicit ByteEnv(runtime::Runtime& runtime)
      : kind_(runtime.add_reclaim_kind(
            [](runtime::Worker& worker, void* item) { worker.items().release(item); })) {}
  static KeyView view(const OwnedKey& key) noexcept { return key; }
  static OwnedKey key_of(std::uint64_t /*head*/, std::uint64_t word) {
    return OwnedKey{TestRecord::key(word)};
  }

  std::optional<std::uint64_t> make(runtime::Worker& worker, KeyView key,
                                    std::uint64_t number) const noexcept {
    void* memory = worker.items().allocate(sizeof(TestItem) + key.size());
    if (memory == nullptr) {
      return std::nullopt;
    }
    auto* item = new (memory) TestItem;
    item->number = number;
    item->key_bytes = static_cast<std::uint16_t>(key.size());
    std::memcpy(static_cast<char*>(memory) + sizeof(TestItem), key.data(), key.size());
    return reinterpret_cast<std::uint64_t>(item);
  }
  static std::uint64_t number(std::uint64_t word) noexcept { return TestItem::of(word).number; }
  static void renumber(std::uint64_t& word, std::uint64_t number) noexcept {
    TestItem::of(word).number = number;
  }
  static void touch(std::uint64_t word) noexcept {
    TestItem::of(word).touches.fetch_add(1, std::memory_order_relaxed);
  }
  void dispose(runtime::Worker& worker, std::uint64_t word) const noexcept {
    TestRecord::release(worker, word);
  }
  void retire(runtime::Worker& worker, std::uint64_t word) const {
    worker.retire(reinterpret_cast<void*>(word), kind_,
                  worker.items().usable_size(reinterpret_cast<void*>(word)));
  }

 private:
  runtime::ReclaimKind kind_;
};

}  // namespace mxkv::index::testing
