#include "server/cluster/presence.hpp"

#include <nlohmann/json.hpp>

namespace mxkv::server {

using Json = nlohmann::json;

std::string write_presence(const Presence& presence) {
  Json shards = Json::array();
  for (const ShardPresence& shard : presence.shards) {
    shards.push_back({{"id", shard.id},
                      {"role", shard.role},
                      {"term", shard.term},
                      {"position", shard.position},
                      {"serves", shard.serves}});
  }
  const Json json{{"name", presence.name},       {"process", presence.process},
                  {"address", presence.address}, {"peer", presence.peer},
                  {"version", presence.version}, {"map_version", presence.map_version},
                  {"shards", std::move(shards)}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::optional<Presence> parse_presence(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  try {
    Presence presence{.name = json.at("name").get<std::string>(),
                      .process = json.at("process").get<std::uint64_t>(),
                      .address = json.at("address").get<std::string>(),
                      .peer = json.at("peer").get<std::string>(),
                      .version = json.at("version").get<std::string>(),
                      .map_version = json.at("map_version").get<std::uint64_t>(),
                      .shards = {}};
    for (const Json& shard : json.at("shards")) {
      presence.shards.push_back({.id = shard.at("id").get<std::uint32_t>(),
                                 .role = shard.at("role").get<std::string>(),
                                 .term = shard.at("term").get<std::uint64_t>(),
                                 .position = shard.at("position").get<std::uint64_t>(),
                                 .serves = shard.at("serves").get<bool>()});
    }
    return presence;
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

}  // namespace mxkv::server
