// The two kinds of records as the tree holds them: 64-bit keys with 64-bit values in the leaves, and byte
// keys with the daemon's items out of line.
#pragma once

#include <cstdint>
#include <string_view>

#include "bench/index/keys.hpp"
#include "index/traits.hpp"
#include "server/store/core/store_task.hpp"

namespace mxkv::bench {

struct IntegerKind {
  using Traits = index::IntegerTraits<>;
  static constexpr std::size_t kPayloadBytes = 16;  ///< key and value of a record

  /// A key that a task carries.
  class Key {
   public:
    Key() = default;
    explicit Key(std::uint64_t record) noexcept : key_(key_of(record)) {}
    static constexpr std::size_t kBytes = 8;
    [[nodiscard]] std::uint64_t view() const noexcept { return key_; }
    [[nodiscard]] std::uint64_t first(std::size_t /*bytes*/) const noexcept { return key_; }
    std::size_t set(std::uint64_t key) noexcept {
      key_ = key;
      return kBytes;
    }

   private:
    std::uint64_t key_ = 0;
  };

  static std::uint64_t key_in(std::uint64_t head, std::uint64_t /*value*/) noexcept { return head; }
  /// Whether a leaf's value word belongs to the key.
  static bool right(std::uint64_t key, std::uint64_t value) noexcept { return value == ~key; }

  static void add_kind(runtime::Runtime& /*runtime*/, runtime::ReclaimKind& /*kind*/) {}
  /// Makes the value of a key. Returns false if there is no memory.
  static bool make(runtime::Worker& /*worker*/, std::uint64_t key, std::uint64_t& value) noexcept {
    value = ~key;
    return true;
  }
  static void drop(runtime::Worker& /*worker*/, std::uint64_t /*value*/) noexcept {}
  static void retire(runtime::Worker& /*worker*/, runtime::ReclaimKind /*kind*/, std::uint64_t /*value*/) {}
};

template <std::size_t KeyBytes>
struct ItemKind {
  using Traits = server::ItemTraits;
  using Key = TextKey<KeyBytes>;
  using Item = server::Item;
  using Record = server::ItemRecord;
  static constexpr std::size_t kPayloadBytes = KeyBytes + kTextValueBytes;

  static std::string_view key_in(std::uint64_t /*head*/, std::uint64_t value) noexcept {
    return Record::key(value);
  }
  static bool right(std::string_view key, std::uint64_t value) noexcept {
    const Item& item = *Record::item(value);
    return item.key() == key && is_value(key, item.value());
  }

  static void add_kind(runtime::Runtime& runtime, runtime::ReclaimKind& kind) {
    kind = runtime.add_reclaim_kind(
        [](runtime::Worker& worker, void* item) { Item::destroy(worker, static_cast<Item*>(item)); });
  }
  static bool make(runtime::Worker& worker, std::string_view key, std::uint64_t& value) noexcept {
    Item* item = Item::create(worker, {.key = key, .value_bytes = kTextValueBytes});
    if (item == nullptr) {
      return false;
    }
    write_value(key, item->value_begin());
    value = Record::word(item);
    return true;
  }
  static void drop(runtime::Worker& worker, std::uint64_t value) noexcept {
    Item::destroy(worker, Record::item(value));
  }
  static void retire(runtime::Worker& worker, runtime::ReclaimKind kind, std::uint64_t value) {
    Item* item = Record::item(value);
    worker.retire(item, kind, item->memory_bytes());
  }
};

}  // namespace mxkv::bench
