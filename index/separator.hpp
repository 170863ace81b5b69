// Separator records: the immutable byte strings behind fences and inner separators of byte-key nodes.
//
// Each is the bound between two neighbouring leaves, cut to the shortest string that divides. It is the low
// fence of the right leaf, the high fence of the left leaf, the right leaf's separator in the parent, and
// fence or separator of nodes further up that begin with that leaf. It belongs to the leaf whose low fence it
// is. It is retired by epoch when that leaf goes, or gets another low fence. The minimum (no record) is the
// word 0.
#pragma once

#include <cstdint>
#include <cstring>
#include <new>

#include "index/key.hpp"
#include "runtime/base/assert.hpp"

namespace mxkv::index {

class SeparatorRecord {
 public:
  [[nodiscard]] static std::size_t bytes_for(KeyView key) noexcept {
    return sizeof(SeparatorRecord) + key.size();
  }

  /// Writes a record of `key` into `memory` of bytes_for(key) bytes, 8-byte aligned.
  static SeparatorRecord* construct(void* memory, KeyView key) noexcept {
    MXKV_ASSERT(!key.empty() && key.size() <= kMaxKeyBytes, "a separator is a key, and not the minimum");
    auto* record = new (memory) SeparatorRecord(static_cast<std::uint16_t>(key.size()));
    std::memcpy(record + 1, key.data(), key.size());
    return record;
  }

  [[nodiscard]] KeyView key() const noexcept { return {reinterpret_cast<const char*>(this + 1), size_}; }

  /// The key that a node's word stands for; 0 is the minimum.
  [[nodiscard]] static KeyView key_of(std::uint64_t word) noexcept {
    return word == 0 ? KeyView{} : reinterpret_cast<const SeparatorRecord*>(word)->key();
  }

 private:
  explicit SeparatorRecord(std::uint16_t size) noexcept : size_(size) {}
  std::uint16_t size_;
};

}  // namespace mxkv::index
