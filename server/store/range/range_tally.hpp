// The sums of mc over the items of a range.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "server/store/item/derived_items.hpp"

namespace mxkv::server {

/// A sum of 64-bit numbers that does not overflow: `upper` counts multiples of kBase.
struct NumberSum {
  static constexpr std::uint64_t kBase = 1'000'000'000'000'000'000U;
  std::uint64_t upper = 0;
  std::uint64_t lower = 0;  ///< below kBase

  void add(std::uint64_t number) noexcept {
    upper += number / kBase;
    lower += number % kBase;
    if (lower >= kBase) {
      lower -= kBase;
      ++upper;
    }
  }
  void add(const NumberSum& other) noexcept {
    upper += other.upper;
    add(other.lower);
  }
};

struct RangeTally {
  std::uint64_t items = 0;
  std::uint64_t bytes = 0;    ///< of keys and values
  std::uint64_t numbers = 0;  ///< items whose value is a number by the rules of incr
  NumberSum sum;
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t greatest = 0;

  void add(const Item::View& item, std::string_view key, bool with_numbers) noexcept {
    ++items;
    bytes += key.size() + item.value_bytes();
    std::uint64_t number = 0;
    if (with_numbers && read_number(item.item(), number)) {
      ++numbers;
      sum.add(number);
      least = std::min(least, number);
      greatest = std::max(greatest, number);
    }
  }
  void add(const RangeTally& other) noexcept {
    items += other.items;
    bytes += other.bytes;
    numbers += other.numbers;
    sum.add(other.sum);
    least = std::min(least, other.least);
    greatest = std::max(greatest, other.greatest);
  }
};

}  // namespace mxkv::server
