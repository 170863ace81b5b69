// The space that Toggle schedules operations over, cut into slots [To 3.1].
//
// In the paper every node of a hierarchy is the interval of the leaf ordinals below it, and buckets are
// ranges of ordinals. Here the ordinals are those of slots: ranges of the key space (or of leaves) between
// separators. An operation is the interval of the slots that it touches, so two that touch different slots do
// not conflict.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "runtime/base/assert.hpp"

namespace mxkv::runtime {

/// Slots, from the first to the last.
struct SlotInterval {
  std::uint32_t first = 0;
  std::uint32_t last = 0;

  [[nodiscard]] bool single() const noexcept { return first == last; }
  [[nodiscard]] bool overlaps(const SlotInterval& other) const noexcept {
    return first <= other.last && other.first <= last;
  }
  friend bool operator==(const SlotInterval&, const SlotInterval&) = default;
};

/// Which slot a key is in. Thread-safety: none; meant to be built once and replaced whole.
template <class Key, std::strict_weak_order<Key, Key> Less = std::less<>>
class SlotMap {
 public:
  /// Slot i ends before separators[i]; the last one has no end. Separators must rise.
  explicit SlotMap(std::vector<Key> separators) : separators_(std::move(separators)) {
    MXKV_ASSERT(std::is_sorted(separators_.begin(), separators_.end(), Less{}), "separators rise");
  }

  [[nodiscard]] std::uint32_t slots() const noexcept {
    return static_cast<std::uint32_t>(separators_.size()) + 1;
  }
  /// The least key of a slot that is not the first.
  [[nodiscard]] const Key& begin_of(std::uint32_t slot) const noexcept {
    MXKV_ASSERT(slot > 0 && slot < slots(), "the first slot has no least key");
    return separators_[slot - 1];
  }
  template <class AnyKey>
    requires std::predicate<Less, const AnyKey&, const Key&>
  [[nodiscard]] std::uint32_t slot_of(const AnyKey& key) const noexcept {
    const auto at = std::upper_bound(separators_.begin(), separators_.end(), key, Less{});
    return static_cast<std::uint32_t>(at - separators_.begin());
  }
  /// The slots of the keys from `low` to `high`, both included.
  template <class AnyKey>
    requires std::predicate<Less, const AnyKey&, const Key&>
  [[nodiscard]] SlotInterval slots_of(const AnyKey& low, const AnyKey& high) const noexcept {
    return {slot_of(low), slot_of(high)};
  }

 private:
  std::vector<Key> separators_;
};

}  // namespace mxkv::runtime
