#include "server/cluster/map_history.hpp"

#include <charconv>
#include <utility>

#include "runtime/base/assert.hpp"
#include "server/cluster/cluster_json.hpp"

namespace mxkv::server {
namespace {

constexpr std::string_view kMapPrefix = "map/";
constexpr std::string_view kNodePrefix = "node/";

}  // namespace

std::string map_key(std::uint64_t version, std::uint64_t writer) {
  constexpr int kHex = 16;
  char text[kHex];
  const std::to_chars_result end = std::to_chars(text, text + sizeof text, writer, kHex);
  return std::string{kMapPrefix} + std::to_string(version) + "/" + std::string(text, end.ptr);
}

std::uint64_t version_of_map_key(std::string_view key) {
  std::uint64_t version = 0;
  if (!key.starts_with(kMapPrefix)) {
    return 0;
  }
  const char* const end = key.data() + key.size();
  const auto [behind, error] = std::from_chars(key.data() + kMapPrefix.size(), end, version);
  return error == std::errc{} && behind != end && *behind == '/' ? version : 0;
}

std::string presence_key(std::string_view node) {
  return std::string{kNodePrefix}.append(node);
}

std::string_view node_of_key(std::string_view key) {
  return key.starts_with(kNodePrefix) ? key.substr(kNodePrefix.size()) : std::string_view{};
}

std::string MapHistory::mistake_behind(const ClusterMap& map, std::uint64_t version) const {
  if (map.version != version) {
    return "version: differs from the record's key";
  }
  if (current_ && map.cluster != current_->cluster) {
    return "cluster: is the id of another cluster";
  }
  if (current_ && !same_shards(map, *current_)) {
    return "shards: boundaries or log partitions differ from the previous map";
  }
  return {};
}

bool MapHistory::take(std::string_view key, std::optional<std::string_view> value) {
  const std::uint64_t version = version_of_map_key(key);
  if (version == 0 || !value || (current_ && version <= current_->version)) {
    return false;
  }
  runtime::Result<ClusterMap> map = map_of_json(*value);
  if (std::string wrong = map ? mistake_behind(map.value(), version) : map.error().message; !wrong.empty()) {
    complaint_ = std::string{key} + ": " + wrong;
    ++left_out_;
    return false;
  }
  MXKV_ASSERT(!current_ || same_shards(map.value(), *current_),
              "no map moves keys from one shard to another");
  current_ = std::move(map).value();
  key_ = key;
  return true;
}

}  // namespace mxkv::server
