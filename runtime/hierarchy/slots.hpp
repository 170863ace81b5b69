// The space that Toggle schedules operations over, cut into slots [To 3.1].
//
// In the paper every node of a hierarchy is the interval of the leaf ordinals below it, and buckets are
// ranges of ordinals. Here the ordinals number slots: ranges of the key space (or of leaves) between
// separators. An operation is the interval of the slots that it touches, so two that touch different slots do
// not conflict. Where it leaves out some slots between the first and the last, a bit mask says so: a bit is a
// slot, or as many neighbours as it takes for one word to be enough.
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
  [[nodiscard]] constexpr bool overlaps(const SlotInterval& other) const noexcept {
    return first <= other.last && other.first <= last;
  }
  friend bool operator==(const SlotInterval&, const SlotInterval&) = default;
};

/// How many slots a bit of a mask stands for: one, where 64 bits are enough for all. With more slots it is a
/// divisor of a bucket's, with more than 64 buckets so many whole ones.
class SlotParts {
 public:
  static constexpr std::uint32_t kMost = 64;

  constexpr SlotParts(std::uint32_t buckets, std::uint32_t slots_per_bucket) noexcept
      : slots_a_part_((buckets + kMost - 1) / kMost * slots_per_bucket) {
    for (std::uint32_t divisor = 1; divisor < slots_per_bucket; ++divisor) {
      if (slots_per_bucket % divisor == 0 && buckets * (slots_per_bucket / divisor) <= kMost) {
        slots_a_part_ = divisor;
        return;
      }
    }
  }
  [[nodiscard]] constexpr std::uint32_t slots_a_part() const noexcept { return slots_a_part_; }
  /// The bit of the part that a slot is in.
  [[nodiscard]] constexpr std::uint64_t bit_of(std::uint32_t slot) const noexcept {
    return std::uint64_t{1} << slot / slots_a_part_;
  }
  [[nodiscard]] constexpr std::uint64_t bits_of(const SlotInterval& slots) const noexcept {
    return ~std::uint64_t{0} >> (kMost - 1 - slots.last / slots_a_part_) &
           (~std::uint64_t{0} << slots.first / slots_a_part_);
  }

 private:
  std::uint32_t slots_a_part_;
};

/// The slots of an operation: the slots of an interval that lie in the parts that a mask names. The mask
/// names the parts of the first and of the last slot; parts outside of the interval do not count.
struct SlotSet {
  static constexpr std::uint64_t kAllParts = ~std::uint64_t{0};

  SlotInterval span;
  std::uint64_t parts = kAllParts;

  constexpr SlotSet() noexcept = default;
  constexpr SlotSet(const SlotInterval& all) noexcept : span(all) {}  // NOLINT(google-explicit-constructor)
  constexpr SlotSet(const SlotInterval& all, std::uint64_t named) noexcept : span(all), parts(named) {}

  /// For two sets whose masks name nothing outside of their intervals.
  [[nodiscard]] constexpr bool overlaps(const SlotSet& other) const noexcept {
    return (parts & other.parts) != 0 && span.overlaps(other.span);
  }
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
