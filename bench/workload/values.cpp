#include "bench/workload/values.hpp"

#include <cstring>

namespace mxkv::bench {
namespace {

constexpr std::size_t kStampBytes = sizeof(std::uint64_t);
// A stamp needs a word behind it that it can contradict.
constexpr std::size_t kLeastStamped = 2 * kStampBytes;
constexpr std::uint64_t kWordStep = 0x9E3779B97F4A7C15ULL;

constexpr std::uint64_t mix(std::uint64_t x) noexcept {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

/// Six bits a byte, as characters '0' to 'o'.
constexpr std::uint64_t printable(std::uint64_t x) noexcept {
  return (x & 0x3F3F3F3F3F3F3F3FULL) + 0x3030303030303030ULL;
}

constexpr std::uint64_t seed_of(std::uint64_t key_hash, std::uint64_t stamp, std::size_t bytes) noexcept {
  return mix(key_hash + stamp * kWordStep + bytes);
}

}  // namespace

void write_value(std::uint64_t key_hash, std::uint64_t version, char* out, std::size_t bytes) noexcept {
  const bool stamped = bytes >= kLeastStamped;
  std::uint64_t stamp = 0;
  if (stamped) {
    stamp = printable(mix(version + kWordStep));
    std::memcpy(out, &stamp, kStampBytes);
  }
  std::uint64_t seed = seed_of(key_hash, stamp, bytes);
  std::size_t at = stamped ? kStampBytes : 0;
  for (; at + kStampBytes <= bytes; at += kStampBytes) {
    const std::uint64_t word = printable(seed);
    std::memcpy(out + at, &word, kStampBytes);
    seed += kWordStep;
  }
  const std::uint64_t last = printable(seed);
  std::memcpy(out + at, &last, bytes - at);
}

bool value_matches(std::uint64_t key_hash, std::string_view data, std::size_t bytes) noexcept {
  if (data.size() != bytes) {
    return false;
  }
  const bool stamped = bytes >= kLeastStamped;
  std::uint64_t stamp = 0;
  if (stamped) {
    std::memcpy(&stamp, data.data(), kStampBytes);
  }
  std::uint64_t seed = seed_of(key_hash, stamp, bytes);
  std::uint64_t difference = 0;
  std::size_t at = stamped ? kStampBytes : 0;
  for (; at + kStampBytes <= bytes; at += kStampBytes) {
    std::uint64_t word = 0;
    std::memcpy(&word, data.data() + at, kStampBytes);
    difference |= word ^ printable(seed);
    seed += kWordStep;
  }
  const std::uint64_t last = printable(seed);
  return difference == 0 && std::memcmp(data.data() + at, &last, bytes - at) == 0;
}

}  // namespace mxkv::bench
