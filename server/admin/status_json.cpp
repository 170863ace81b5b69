#include "server/admin/status_json.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <vector>

#include <nlohmann/json.hpp>

#include "runtime/base/readable.hpp"
#include "server/stats/memory_stats.hpp"
#include "server/stats/observed_stats.hpp"
#include "server/stats/quota_stats.hpp"

namespace mxkv::server {

namespace {

using nlohmann::json;

constexpr std::size_t kMostHot = 20;
constexpr std::size_t kMostSlow = 20;
constexpr std::size_t kMostTold = 60;  ///< groups of prefixes that are shown

std::string text_of(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

/// Rounds to a tenth, so that the JSON stays short.
double rounded(double value) {
  return std::round(value * 10) / 10;
}

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

json series_of(const Recorder& recorder) {
  json series;
  json& commands = series["commands"];
  for (std::size_t i = 0; i < kCommandGroups; ++i) {
    commands[std::string{name_of(static_cast<command_group>(i))}] = json::array();
  }
  const std::array<const char*, 11> names{"time",    "hits", "misses", "received", "sent",  "evicted",
                                          "expired", "used", "items",  "p50_ns",   "p99_ns"};
  for (const char* const name : names) {
    series[name] = json::array();
  }
  for (const Recorder::Second& second : recorder.seconds()) {
    for (std::size_t i = 0; i < kCommandGroups; ++i) {
      commands[std::string{name_of(static_cast<command_group>(i))}].push_back(rounded(second.commands[i]));
    }
    series["time"].push_back(rounded(second.unix_s));
    series["hits"].push_back(rounded(second.hits));
    series["misses"].push_back(rounded(second.misses));
    series["received"].push_back(rounded(second.received_bytes));
    series["sent"].push_back(rounded(second.sent_bytes));
    series["evicted"].push_back(rounded(second.evicted));
    series["expired"].push_back(rounded(second.expired));
    series["used"].push_back(second.used_bytes);
    series["items"].push_back(second.items);
    series["p50_ns"].push_back(second.all.samples == 0 ? json{} : json(second.all.p50_ns));
    series["p99_ns"].push_back(second.all.samples == 0 ? json{} : json(second.all.p99_ns));
  }
  return series;
}

json latencies_of(const Recorder& recorder) {
  json latencies = json::array();
  for (std::size_t i = 0; i < kCommandGroups; ++i) {
    const Recorder::Percentiles& one = recorder.percentiles()[i];
    latencies.push_back({{"command", name_of(static_cast<command_group>(i))},
                         {"samples", one.samples},
                         {"p50_ns", one.samples == 0 ? json{} : json(one.p50_ns)},
                         {"p99_ns", one.samples == 0 ? json{} : json(one.p99_ns)}});
  }
  return latencies;
}

json memory_of(const ServingParts& parts) {
  const runtime::MemoryBudget& budget = parts.runtime.budget();
  json memory{
      {"limit", budget.limit_bytes()}, {"used", budget.used_bytes()}, {"evicts", parts.store.evicts()}};
  for (const auto& [category, name] : kMemoryCategoryNames) {
    memory["by"][std::string{name}] = budget.category_bytes(category);
  }
  return memory;
}

json nodes_of(const ServingParts& parts, const Recorder& recorder) {
  std::map<std::uint32_t, json> nodes;
  const std::vector<std::uint64_t> connections = parts.network.connections_by_worker();
  for (std::size_t i = 0; i < parts.runtime.worker_count(); ++i) {
    const std::uint32_t node = parts.node_of(parts.worker(i));
    const Recorder::WorkerLoad load =
        i < recorder.workers().size() ? recorder.workers()[i] : Recorder::WorkerLoad{};
    nodes[node]["workers"].push_back({{"worker", i},
                                      {"connections", connections[i]},
                                      {"requests", rounded(load.requests)},
                                      {"busy", std::round(load.busy * 1000) / 1000}});
  }
  const auto heaps = heaps_by_node(parts.runtime);
  json list = json::array();
  for (auto& [node, told] : nodes) {
    told["node"] = node;
    if (const auto found = heaps.find(node); found != heaps.end()) {
      told["items_bytes"] = found->second.items.span_bytes;
      told["index_bytes"] = found->second.nodes.span_bytes;
    }
    list.push_back(std::move(told));
  }
  return list;
}

json hot_of(const ServingParts& parts) {
  json hot = json::array();
  for (const HotName& one : hot_names(parts.network, parts.runtime.clock().monotonic_ns())) {
    if (hot.size() == kMostHot) {
      break;
    }
    hot.push_back({{"kind", one.kind == HotKeys::what::range ? "range" : "key"},
                   {"name", runtime::readable(one.name)},
                   {"requests", one.requests.about},
                   {"least", one.requests.least},
                   {"most", one.requests.most}});
  }
  return hot;
}

json slow_of(const ServingParts& parts) {
  std::vector<SlowRequest> latest = parts.network.slow_log().latest();
  std::ranges::reverse(latest);
  latest.resize(std::min(latest.size(), kMostSlow));
  json slow = json::array();
  for (const SlowRequest& one : latest) {
    slow.push_back({{"time", static_cast<double>(one.unix_us) / 1e6},
                    {"took_ns", one.nanoseconds},
                    {"command", name_of(one.kind)},
                    {"range", one.kind == command_kind::range},
                    {"key", runtime::readable(one.key)},
                    {"keys", one.keys},
                    {"client", one.client},
                    {"request_bytes", one.request_bytes},
                    {"reply_bytes", one.reply_bytes},
                    {"worker", one.worker}});
  }
  return slow;
}

json connections_of(const ServingParts& parts) {
  const NetStats net = parts.network.stats();
  return {{"open", net.open_connections},
          {"limit", parts.network.settings().limits.connections},
          {"accepted", net.total_connections},
          {"refused", net.rejected_connections + net.crowded_connections + net.starved_connections},
          {"closed", net.stalled + net.output_full + net.input_full + net.idle_closed + net.journal_closed},
          {"held", net.held}};
}

json journal_of(const ServingParts& parts) {
  if (parts.durability == nullptr) {
    return nullptr;
  }
  const DurabilityStatus status = parts.durability->status();
  return {{"bytes", status.journal_bytes},
          {"most", status.journal_most},
          {"behind_ms", status.behind_ms},
          {"waiting_bytes", status.waiting_bytes},
          {"flush_p50_ns", status.flushes.p50_ns},
          {"flush_p99_ns", status.flushes.p99_ns},
          {"checkpoints", status.checkpoint.completed},
          {"checkpoint_running", status.checkpoint.running},
          {"checkpoint_ratio", status.checkpoint.fraction},
          {"checkpoint_time",
           status.checkpoint.last ? static_cast<double>(status.checkpoint.last->made_us) / 1e6 : 0.0},
          {"failures", status.failures},
          {"refusal", status.refusal}};
}

json cluster_of(const ServingParts& parts) {
  if (parts.cluster == nullptr) {
    return nullptr;
  }
  const NodeStatus status = parts.cluster->status();
  json shards = json::array();
  for (const ShardStatus& one : status.shards) {
    shards.push_back({{"id", one.presence.id},
                      {"role", one.loading           ? "loads"
                               : one.presence.serves ? "serves"
                                                     : one.presence.role},
                      {"term", one.presence.term},
                      {"position", one.presence.position},
                      {"owner", one.owner},
                      {"staleness_ms", one.staleness_ns ? json(*one.staleness_ns / 1'000'000) : json{}}});
  }
  return {{"name", status.cluster},
          {"node", status.node},
          {"map_version", status.map_version},
          {"nodes_alive", status.nodes_alive},
          {"shards", status.shards_of_cluster},
          {"waiting_bytes", status.waiting_bytes},
          {"lapsed", status.lapsed},
          {"lacking", status.lacking},
          {"brokers_silent", status.board_silent},
          {"held", std::move(shards)},
          {"last_error", status.last_error}};
}

json certificates_of(const std::vector<CertificateEnd>& certificates) {
  json list = json::array();
  for (const CertificateEnd& one : certificates) {
    list.push_back({{"listener", one.listener}, {"ends", one.unix_s}});
  }
  return list;
}

json quotas_of(const ServingParts& parts) {
  json list = json::array();
  for (const QuotaSums& sums : quota_sums(parts.store)) {
    list.push_back({{"prefix", runtime::readable(sums.options.prefix)},
                    {"items", sums.of(quota_count::items)},
                    {"memory", sums.charge},
                    {"limit", sums.limit()},
                    {"keep", sums.options.keep_bytes},
                    {"evicts", sums.options.evicts},
                    {"evicted", sums.of(quota_count::evictions)},
                    {"refused", sums.of(quota_count::refused)},
                    {"hits", sums.of(quota_count::sampled_hits)},
                    {"misses", sums.of(quota_count::sampled_misses)}});
  }
  return list;
}

json group_json(const std::string& name, const PrefixSizes::Group& group) {
  return {{"name", runtime::readable(name)},
          {"prefix", in_percents(name)},
          {"items", std::llround(group.items)},
          {"bytes", std::llround(group.bytes)}};
}

}  // namespace

std::string status_json(const Health::State& state, const Recorder& recorder, const ServingParts* parts,
                        const std::vector<CertificateEnd>& certificates, bool keys) {
  const double now =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  json status{{"version", MXKV_VERSION},
              {"host", host_name()},
              {"process", getpid()},
              {"time", rounded(now)},
              {"uptime_s", std::round(now - state.started_unix_s)},
              {"state", name_of(state.now)},
              {"ready", state.ready()},
              {"alive", state.alive()},
              {"overloads", state.overloads},
              {"recovered", state.recovered},
              {"serves", parts != nullptr}};
  if (parts != nullptr) {
    status["memory"] = memory_of(*parts);
    status["items"] = parts->statistics.items();
    status["items_bytes"] = parts->statistics.item_bytes();
    status["hits"] = parts->count(counter::get_hits);
    status["misses"] = parts->count(counter::get_misses);
    status["evicted"] = parts->count(counter::evictions);
    status["connections"] = connections_of(*parts);
    status["sampled_one_in"] = parts->network.samplers().front()->one_in();
    status["slow_from_ms"] = parts->network.settings().stats.slow_ms;
    status["latency_window_s"] = Recorder::kPercentileLooks;
    status["latency"] = latencies_of(recorder);
    status["series"] = series_of(recorder);
    status["nodes"] = nodes_of(*parts, recorder);
    status["quotas"] = keys ? quotas_of(*parts) : json{};
    status["hot"] = keys ? hot_of(*parts) : json{};
    status["slow"] = keys ? slow_of(*parts) : json{};
    status["journal"] = journal_of(*parts);
    status["cluster"] = cluster_of(*parts);
    status["certificates"] = certificates_of(certificates);
  }
  return text_of(status);
}

std::string prefixes_json(const PrefixSizes& sizes) {
  const PrefixSizes::Found& found = sizes.found();
  std::vector<const std::pair<const std::string, PrefixSizes::Group>*> order;
  for (const auto& one : found.groups) {
    order.push_back(&one);
  }
  std::ranges::sort(
      order, [](const auto* one, const auto* other) { return one->second.bytes > other->second.bytes; });
  PrefixSizes::Group others = found.rest;
  json groups = json::array();
  for (const auto* const one : order) {
    if (groups.size() < kMostTold) {
      groups.push_back(group_json(one->first, one->second));
    } else {
      others.items += one->second.items;
      others.bytes += one->second.bytes;
    }
  }
  return text_of({{"prefix", in_percents(sizes.query().prefix)},
                  {"name", runtime::readable(sizes.query().prefix)},
                  {"delimiter", runtime::readable(sizes.query().delimiter)},
                  {"exact", found.exact},
                  {"prefixes", found.groups.size()},
                  {"groups", std::move(groups)},
                  {"others", group_json("", others)},
                  {"single", group_json("", found.single)}});
}

std::string in_percents(std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  constexpr std::string_view kPlain = "-._~";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
        kPlain.find(c) != std::string_view::npos) {
      out += c;
    } else {
      out.append(1, '%').append(1, kHex[byte >> 4U]).append(1, kHex[byte & 15U]);
    }
  }
  return out;
}

std::string out_of_percents(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned byte = 0;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(text.data() + i + 1, text.data() + i + 3, byte, 16).ptr == text.data() + i + 3) {
      out += static_cast<char>(byte);
      i += 2;
    } else {
      out += text[i] == '+' ? ' ' : text[i];
    }
  }
  return out;
}

std::string query_value(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    const std::string_view part = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    const std::size_t equals = part.find('=');
    if (equals != std::string_view::npos && part.substr(0, equals) == name) {
      return out_of_percents(part.substr(equals + 1));
    }
  }
  return {};
}

}  // namespace mxkv::server
