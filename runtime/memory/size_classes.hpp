// Size classes of the value allocator, computed at compile time.
//
//     16 ..   256   steps of 8     items of small values: at most 7 bytes lost
//    256 ..   512   steps of 16
//    512 ..  4096   eight steps an octave, all multiples of 64 (12.5 % lost at most)
//   4096 .. 65536   span / 15, span / 14, ... span / 1, rounded down to multiples of 64
//
// The last group divides the span, because steps of 12.5 % would leave up to 8 % of each span unused; in
// exchange a single odd size may lose up to a third. Callers that may choose (chunk lists) choose a class.
// Every multiple of 64 up to 512, and every class above, is a multiple of 64. So blocks of such sizes are
// line aligned and lie densely (896-byte nodes: 73 in a span, 128 bytes left over).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "runtime/base/assert.hpp"

namespace mxkv::runtime {

inline constexpr std::size_t kSpanBytes = std::size_t{64} << 10U;
inline constexpr std::size_t kSmallestClassBytes = 16;
inline constexpr std::size_t kLargestClassBytes = kSpanBytes;

namespace detail {

struct SizeClassTable {
  static constexpr std::size_t kMax = 128;
  std::array<std::uint32_t, kMax> bytes{};
  std::size_t count = 0;

  constexpr void add(std::size_t size) { bytes[count++] = static_cast<std::uint32_t>(size); }
};

constexpr SizeClassTable make_size_classes() {
  SizeClassTable table;
  for (std::size_t size = kSmallestClassBytes; size <= 256; size += 8) {
    table.add(size);
  }
  for (std::size_t size = 272; size <= 512; size += 16) {
    table.add(size);
  }
  for (std::size_t octave = 512; octave < 4096; octave *= 2) {
    for (std::size_t step = 1; step <= 8; ++step) {
      table.add(octave + step * octave / 8);
    }
  }
  for (std::size_t blocks = 15; blocks >= 1; --blocks) {
    table.add(kSpanBytes / blocks / 64 * 64);
  }
  return table;
}

inline constexpr SizeClassTable kSizeClassTable = make_size_classes();

inline constexpr std::size_t kFineLookupBytes = 1024;  // by 8 bytes up to here, by 64 above

template <std::size_t Entries, std::size_t Step>
constexpr std::array<std::uint8_t, Entries> make_lookup() {
  std::array<std::uint8_t, Entries> lookup{};
  std::size_t size_class = 0;
  for (std::size_t i = 0; i < Entries; ++i) {
    while (kSizeClassTable.bytes[size_class] < i * Step) {
      ++size_class;
    }
    lookup[i] = static_cast<std::uint8_t>(size_class);
  }
  return lookup;
}

inline constexpr auto kFineLookup = make_lookup<kFineLookupBytes / 8 + 1, 8>();
inline constexpr auto kCoarseLookup = make_lookup<kLargestClassBytes / 64 + 1, 64>();

}  // namespace detail

inline constexpr std::size_t kSizeClasses = detail::kSizeClassTable.count;
static_assert(kSizeClasses <= detail::SizeClassTable::kMax);

/// Bytes of a block of a class.
[[nodiscard]] constexpr std::size_t class_bytes(std::size_t size_class) noexcept {
  MXKV_DCHECK(size_class < kSizeClasses, "a class is one of the table");
  return detail::kSizeClassTable.bytes[size_class];
}

/// The smallest class that holds `bytes`, which is at most kLargestClassBytes.
[[nodiscard]] constexpr std::size_t size_class_for(std::size_t bytes) noexcept {
  MXKV_DCHECK(bytes <= kLargestClassBytes, "a class holds the bytes");
  return bytes <= detail::kFineLookupBytes ? detail::kFineLookup[(bytes + 7) / 8]
                                           : detail::kCoarseLookup[(bytes + 63) / 64];
}

}  // namespace mxkv::runtime
