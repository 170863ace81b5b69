#include "server/cluster/shard_splits.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace mxkv::server {
namespace {

constexpr std::uint32_t kFirst = '!';
constexpr std::uint32_t kPrintable = '~' - '!' + 1;

/// The shortest text above `below` and at most `key`, where `key` is above `below`.
std::string shortest_between(std::string_view below, std::string_view key) {
  const auto [other, differs] = std::ranges::mismatch(below, key);
  return std::string{key.substr(0, static_cast<std::size_t>(differs - key.begin()) + 1)};
}

}  // namespace

std::vector<std::string> even_splits(std::uint32_t shards) {
  std::vector<std::string> splits;
  for (std::uint64_t i = 1; i < shards; ++i) {
    const auto place = static_cast<std::uint32_t>(i * kPrintable * kPrintable / shards);
    splits.emplace_back(1, static_cast<char>(kFirst + place / kPrintable));
    if (place % kPrintable != 0) {
      splits.back().push_back(static_cast<char>(kFirst + place % kPrintable));
    }
  }
  return splits;
}

runtime::Result<std::vector<std::string>> splits_of_sample(std::vector<std::string> keys,
                                                           std::uint32_t shards) {
  std::ranges::sort(keys);
  const auto [repeated, end] = std::ranges::unique(keys);
  keys.erase(repeated, end);
  if (keys.size() < shards) {
    return runtime::Error{"has " + std::to_string(keys.size()) + " different keys, too few for " +
                          std::to_string(shards) + " shards"};
  }
  std::vector<std::string> splits;
  for (std::size_t i = 1; i < shards; ++i) {
    const std::size_t at = i * keys.size() / shards;
    splits.push_back(shortest_between(keys[at - 1], keys[at]));
  }
  return splits;
}

}  // namespace mxkv::server
