#include "server/cluster/cluster_json.hpp"

#include <limits>
#include <utility>

#include <nlohmann/json.hpp>

#include "protocol/reply.hpp"

namespace mxkv::server {
namespace {

using nlohmann::json;
using runtime::Error;
using runtime::Result;

std::string to_base64(std::string_view bytes) {
  std::string text((bytes.size() + 2) / 3 * 4, '\0');
  protocol::write_base64(text.data(), bytes);
  return text;
}

/// Thrown and caught in this file: a mistake, with its place.
struct Mistake {
  std::string text;
};

/// A value of a document, with its place for error messages.
class Place {
 public:
  Place(const json& value, std::string name) : value_(value), name_(std::move(name)) {}

  [[nodiscard]] Place member(const char* key) const {
    if (!value_.is_object()) {
      fail("must be an object");
    }
    const auto at = value_.find(key);
    const std::string inner = name_.empty() ? key : name_ + "." + key;
    if (at == value_.end()) {
      throw Mistake{inner + ": is missing"};
    }
    return {*at, inner};
  }
  [[nodiscard]] bool has(const char* key) const { return value_.is_object() && value_.contains(key); }
  /// Calls `each` with the place of every item.
  template <class Each>
  void items(const Each& each) const {
    if (!value_.is_array()) {
      fail("must be a list");
    }
    for (std::size_t i = 0; i < value_.size(); ++i) {
      each(Place{value_[i], name_ + "[" + std::to_string(i) + "]"});
    }
  }
  [[nodiscard]] std::string text() const {
    if (!value_.is_string()) {
      fail("must be a string");
    }
    return value_.get<std::string>();
  }
  [[nodiscard]] std::string bytes() const {
    const std::string encoded = text();
    std::string decoded(encoded.size() / 4 * 3, '\0');
    std::size_t size = 0;
    if (!protocol::read_base64(encoded, decoded.data(), size)) {
      fail("is not base64");
    }
    decoded.resize(size);
    return decoded;
  }
  template <class T>
  [[nodiscard]] T number() const {
    if (!value_.is_number_unsigned()) {
      fail("must be a non-negative integer");
    }
    const auto number = value_.get<std::uint64_t>();
    if (number > static_cast<std::uint64_t>(std::numeric_limits<T>::max())) {
      fail("is too large");
    }
    return static_cast<T>(number);
  }

  [[noreturn]] void fail(const char* what) const {
    throw Mistake{(name_.empty() ? "the document" : name_) + ": " + what};
  }

 private:
  const json& value_;
  std::string name_;
};

ClusterMap read_map(const Place& root) {
  ClusterMap map;
  map.version = root.member("version").number<std::uint64_t>();
  map.cluster = root.member("cluster").number<std::uint64_t>();
  map.replicas = root.member("replicas").number<std::uint32_t>();
  if (root.has("lease_ms")) {  // an older server's map has no lease
    map.lease_ms = root.member("lease_ms").number<std::uint32_t>();
  }
  root.member("nodes").items([&map](const Place& node) {
    map.nodes.push_back({.name = node.member("name").text(),
                         .peer = node.member("peer").text(),
                         .address = node.member("address").text()});
  });
  root.member("shards").items([&map](const Place& shard) {
    const Place id = shard.member("id");
    if (id.number<std::uint64_t>() != map.shards.size()) {
      id.fail("must be the shard's index in the list");
    }
    ClusterMap::Shard& one = map.shards.emplace_back();
    one.from = shard.member("from").bytes();
    one.partition = shard.member("partition").number<std::int32_t>();
    shard.member("replicas").items([&one](const Place& name) { one.replicas.push_back(name.text()); });
    one.prefers = shard.member("prefers").text();
  });
  if (std::string wrong = mistake_of(map); !wrong.empty()) {
    throw Mistake{std::move(wrong)};
  }
  return map;
}

}  // namespace

std::string to_json(const ClusterMap& map) {
  json shards = json::array();
  for (const ClusterMap::Shard& shard : map.shards) {
    shards.push_back({{"id", shards.size()},
                      {"from", to_base64(shard.from)},
                      {"partition", shard.partition},
                      {"replicas", shard.replicas},
                      {"prefers", shard.prefers}});
  }
  json nodes = json::array();
  for (const ClusterMap::Node& node : map.nodes) {
    nodes.push_back({{"name", node.name}, {"peer", node.peer}, {"address", node.address}});
  }
  const json document{{"version", map.version},   {"cluster", map.cluster},      {"replicas", map.replicas},
                      {"lease_ms", map.lease_ms}, {"shards", std::move(shards)}, {"nodes", std::move(nodes)}};
  return document.dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<ClusterMap> map_of_json(std::string_view text) {
  const json document = json::parse(text, nullptr, false);
  if (document.is_discarded()) {
    return Error{"is not JSON"};
  }
  try {
    return read_map(Place{document, ""});
  } catch (const Mistake& mistake) {
    return Error{mistake.text};
  }
}

}  // namespace mxkv::server
