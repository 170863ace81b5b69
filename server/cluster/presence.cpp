#include "server/cluster/presence.hpp"

#include <nlohmann/json.hpp>

namespace mxkv::server {

using Json = nlohmann::json;

namespace {

/// Throws as Json does if the value is no non-negative integer; a get<>() would convert some other values.
std::uint64_t whole_number(const Json& object, const char* name) {
  return object.at(name).get_ref<const Json::number_unsigned_t&>();
}

}  // namespace

std::string write_presence(const Presence& presence) {
  Json shards = Json::array();
  for (const ShardPresence& shard : presence.shards) {
    shards.push_back({{"id", shard.id},
                      {"role", shard.role},
                      {"term", shard.term},
                      {"position", shard.position},
                      {"serves", shard.serves}});
  }
  const Json json{{"name", presence.name},           {"process", presence.process},
                  {"address", presence.address},     {"peer", presence.peer},
                  {"version", presence.version},     {"map_version", presence.map_version},
                  {"said_ns", presence.said_ns},     {"read", presence.read},
                  {"behind_ns", presence.behind_ns}, {"shards", std::move(shards)}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::optional<Presence> parse_presence(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  const auto since_new = [&json](const char* name, std::uint64_t otherwise) {
    return json.contains(name) ? whole_number(json, name) : otherwise;
  };
  try {
    Presence presence{.name = json.at("name").get<std::string>(),
                      .process = whole_number(json, "process"),
                      .address = json.at("address").get<std::string>(),
                      .peer = json.at("peer").get<std::string>(),
                      .version = json.at("version").get<std::string>(),
                      .map_version = whole_number(json, "map_version"),
                      .said_ns = since_new("said_ns", 0),
                      .read = since_new("read", 0),
                      .behind_ns = since_new("behind_ns", Presence::kNotTold),
                      .shards = {}};
    for (const Json& shard : json.at("shards")) {
      presence.shards.push_back({.id = static_cast<std::uint32_t>(whole_number(shard, "id")),
                                 .role = shard.at("role").get<std::string>(),
                                 .term = whole_number(shard, "term"),
                                 .position = whole_number(shard, "position"),
                                 .serves = shard.at("serves").get<bool>()});
    }
    if (presence.process == 0) {
      return std::nullopt;
    }
    return presence;
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

}  // namespace mxkv::server
