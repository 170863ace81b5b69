// Keys by number, in order, with room for others between two of them. Byte keys come in families, so that
// nodes have prefixes that change.
#pragma once

#include <cstdint>
#include <string>

namespace mxkv::index::testing {

/// `between` below 10: the `between`-th key after key `n` and before the next one.
inline std::uint64_t spaced_key(std::uint64_t /*kind*/, std::uint64_t n, std::uint64_t between = 0) {
  return 1000 + 10 * n + between;
}
inline std::string spaced_key(const std::string& /*kind*/, std::uint64_t n, std::uint64_t between = 0) {
  std::string key = std::to_string(1'000'000 + n);
  key.insert(4, n / 100 % 2 == 0 ? "-a-long-part-in-the-middle-" : "-b");
  return between == 0 ? key : key + '+' + std::to_string(between);
}

}  // namespace mxkv::index::testing
