// Sets of byte keys that are hard on heads, prefixes and fences.
#pragma once

#include <string>
#include <vector>

#include "index/key.hpp"
#include "runtime/base/random.hpp"

namespace mxkv::index::testing {

enum class key_set : std::uint8_t {
  nested,       ///< each the beginning of the next, up to the longest key
  nul_bytes,    ///< of NUL and 0x01 only: heads tie without keys being equal
  high_bytes,   ///< of 0xFE and 0xFF only: heads that look like unused fences
  equal_heads,  ///< the same first 8 bytes
  common_30,    ///< 30 common bytes: more than the node keeps inline
  common_60,    ///< 60 common bytes, then nested tails
  longest,      ///< 240 common bytes, 250 in all
  families,     ///< random beginnings shared by some, of all lengths
  decimal,      ///< as users number things
  strangers,    ///< twelve common bytes, which now and then a key lacks
};

inline constexpr key_set kAllKeySets[] = {
    key_set::nested,    key_set::nul_bytes, key_set::high_bytes, key_set::equal_heads, key_set::common_30,
    key_set::common_60, key_set::longest,   key_set::families,   key_set::decimal,     key_set::strangers};

namespace detail {
inline std::string random_bytes(runtime::Random& random, std::size_t size, std::string_view alphabet) {
  std::string bytes(size, '\0');
  for (char& byte : bytes) {
    byte = alphabet.empty() ? static_cast<char>(random.below(256)) : alphabet[random.below(alphabet.size())];
  }
  return bytes;
}
}  // namespace detail

/// One key of a set, as `random` says. 1 to kMaxKeyBytes bytes.
inline std::string random_key(key_set set, runtime::Random& random) {
  using detail::random_bytes;
  constexpr std::string_view kNulOne{"\0\1", 2};
  switch (set) {
    case key_set::nested:
      return std::string(1 + random.below(kMaxKeyBytes), 'n');
    case key_set::nul_bytes:
      return random_bytes(random, 1 + random.below(20), kNulOne);
    case key_set::high_bytes:
      return random_bytes(random, 1 + random.below(20), "\xFE\xFF");
    case key_set::equal_heads:
      return "samehead" + random_bytes(random, random.below(4), kNulOne) +
             random_bytes(random, random.below(3), "");
    case key_set::common_30:
      return std::string(30, 'c') + random_bytes(random, random.below(12), "ab");
    case key_set::common_60:
      return std::string(60, 'x') + std::string(random.below(40), 'y') +
             random_bytes(random, random.below(3), "yz");
    case key_set::longest:
      return std::string(240, 'l') + random_bytes(random, 10, "lm");
    case key_set::families: {
      runtime::Random family{random.below(7)};
      return random_bytes(family, 1 + family.below(60), "") +
             random_bytes(random, random.below(12), "\x7F\x80");
    }
    case key_set::decimal:
      return "user:" + std::to_string(random.below(1'000'000));
    case key_set::strangers:
      if (random.below(16) == 0) {
        return std::string("tenant:0001:").substr(0, random.below(12)) +
               random_bytes(random, 1 + random.below(3), "");
      }
      return "tenant:0001:" + std::to_string(random.below(1'000'000));
  }
  return {};
}

/// Up to `count` different keys.
inline std::vector<std::string> make_keys(key_set set, std::size_t count, std::uint64_t seed) {
  runtime::Random random{seed};
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < count; ++i) {
    keys.push_back(random_key(set, random));
  }
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return keys;
}

}  // namespace mxkv::index::testing
