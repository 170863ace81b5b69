#include "bench/report/result_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "bench/client/units.hpp"
#include "bench/report/percentiles.hpp"

namespace mxkv::bench {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFormat = "mxkv-ycsb result";
constexpr int kFormatVersion = 1;

Json histogram_json(const SparseHistogram& histogram) {
  Json json;
  json["count"] = histogram.count();
  json["mean_us"] = histogram.mean() / kNsPerUs;
  for (const NamedPercentile& percentile : kPercentiles) {
    json[fmt::format("{}_us", percentile.name)] =
        static_cast<double>(histogram.percentile(percentile.percent)) / kNsPerUs;
  }
  json["min_ns"] = histogram.min();
  json["max_ns"] = histogram.max();
  json["sum_ns"] = histogram.sum();
  Json buckets = Json::array();
  for (const auto& [bucket, count] : histogram.buckets()) {
    buckets.push_back(bucket);
    buckets.push_back(count);
  }
  json["buckets"] = std::move(buckets);
  return json;
}

SparseHistogram histogram_from(const Json& json) {
  const Json& flat = json.at("buckets");
  if (!flat.is_array() || flat.size() % 2 != 0) {
    throw std::runtime_error("buckets are not pairs");
  }
  SparseHistogram::Buckets buckets;
  for (std::size_t i = 0; i < flat.size(); i += 2) {
    buckets.emplace_back(flat[i].get<std::uint32_t>(), flat[i + 1].get<std::uint64_t>());
  }
  auto made = SparseHistogram::from_parts(std::move(buckets), json.at("sum_ns"), json.at("min_ns"),
                                          json.at("max_ns"));
  if (!made) {
    throw std::runtime_error(made.error().message);
  }
  return std::move(made).value();
}

Histogram dense(const SparseHistogram& sparse) {
  Histogram histogram;
  sparse.add_to(histogram);
  return histogram;
}

std::size_t kind_from(const std::string& name) {
  for (std::size_t i = 0; i < kOperationKinds; ++i) {
    if (report_name(static_cast<OperationKind>(i)) == name) {
      return i;
    }
  }
  throw std::runtime_error("'" + name + "' is not a kind of operation");
}

Json tally_json(const Tally& tally) {
  Json json = Json::object();
  for (std::size_t i = 0; i < kOperationKinds; ++i) {
    const KindTally& kind = tally.kinds[i];
    if (kind.latency.count() == 0) {
      continue;
    }
    Json& entry = json[std::string(report_name(static_cast<OperationKind>(i)))];
    entry = {{"ok", kind.ok}, {"not_found", kind.not_found}, {"wrong", kind.wrong}, {"error", kind.error}};
    entry["latency"] = histogram_json(SparseHistogram(kind.latency));
    if (kind.intended.count() != 0) {
      entry["intended_latency"] = histogram_json(SparseHistogram(kind.intended));
    }
  }
  return json;
}

Tally tally_from(const Json& json) {
  Tally tally;
  for (const auto& [name, entry] : json.items()) {
    KindTally& kind = tally.kinds[kind_from(name)];
    kind.ok = entry.at("ok");
    kind.not_found = entry.at("not_found");
    kind.wrong = entry.at("wrong");
    kind.error = entry.at("error");
    kind.latency = dense(histogram_from(entry.at("latency")));
    if (entry.contains("intended_latency")) {
      kind.intended = dense(histogram_from(entry.at("intended_latency")));
    }
  }
  return tally;
}

Json series_json(const Series& series) {
  Json json = Json::array();
  for (std::size_t i = 0; i < series.size(); ++i) {
    const Second& second = series[i];
    Json entry = {{"second", i},
                  {"length_ns", second.length_ns},
                  {"operations", second.operations},
                  {"failures", second.failures},
                  {"latency", Json::object()}};
    for (std::size_t kind = 0; kind < kOperationKinds; ++kind) {
      if (second.latency[kind].count() != 0) {
        entry["latency"][std::string(report_name(static_cast<OperationKind>(kind)))] =
            histogram_json(second.latency[kind]);
      }
    }
    json.push_back(std::move(entry));
  }
  return json;
}

Series series_from(const Json& json) {
  Series series;
  for (const Json& entry : json) {
    Second& second = series.emplace_back();
    second.length_ns = entry.at("length_ns");
    second.operations = entry.at("operations");
    second.failures = entry.at("failures");
    for (const auto& [name, histogram] : entry.at("latency").items()) {
      second.latency[kind_from(name)] = histogram_from(histogram);
    }
  }
  return series;
}

Json schedule_json(const ScheduleFigures& schedule) {
  return {{"target_ops_per_s", schedule.rate_per_s},
          {"arrivals", schedule.arrivals == Arrivals::poisson ? "poisson" : "constant"},
          {"sent", schedule.sent},
          {"unsent", schedule.unsent},
          {"length_ns", schedule.length_ns},
          {"max_lag_ns", schedule.max_lag_ns},
          {"last_lag_ns", schedule.last_lag_ns},
          {"fell_behind", schedule.fell_behind()}};
}

ScheduleFigures schedule_from(const Json& json) {
  ScheduleFigures schedule;
  schedule.rate_per_s = json.at("target_ops_per_s");
  schedule.arrivals = json.at("arrivals") == "poisson" ? Arrivals::poisson : Arrivals::constant;
  schedule.sent = json.at("sent");
  schedule.unsent = json.at("unsent");
  schedule.length_ns = json.at("length_ns");
  schedule.max_lag_ns = json.at("max_lag_ns");
  schedule.last_lag_ns = json.at("last_lag_ns");
  return schedule;
}

Json client_json(const ClientFacts& client) {
  const Machine& machine = client.machine;
  Json settings = Json::object();
  for (const auto& [name, value] : client.settings) {
    settings[name] = value;
  }
  return {{"version", client.version},
          {"command", client.command},
          {"label", client.label},
          {"settings", std::move(settings)},
          {"machine",
           {{"host", machine.host},
            {"cpu_model", machine.cpu_model},
            {"cpus", machine.cpus},
            {"cpus_allowed", machine.cpus_allowed},
            {"memory_bytes", machine.memory_bytes},
            {"kernel", machine.kernel},
            {"system", machine.system}}}};
}

ClientFacts client_from(const Json& json) {
  ClientFacts client;
  client.version = json.at("version");
  client.command = json.at("command");
  client.label = json.at("label");
  for (const auto& [name, value] : json.at("settings").items()) {
    client.settings.emplace_back(name, value.get<std::string>());
  }
  const Json& machine = json.at("machine");
  client.machine = {machine.at("host"),         machine.at("cpu_model"),    machine.at("cpus"),
                    machine.at("cpus_allowed"), machine.at("memory_bytes"), machine.at("kernel"),
                    machine.at("system")};
  return client;
}

Json server_json(const ServerFacts& server) {
  return {{"address", server.address},
          {"version", server.version},
          {"cpu_source", server.cpu_source},
          {"pid", server.pid},
          {"cpu_ns", server.cpu_ns()},
          {"before_unix_ms", server.before_unix_ms},
          {"after_unix_ms", server.after_unix_ms},
          {"cpu_before_ns", server.cpu_before_ns},
          {"cpu_after_ns", server.cpu_after_ns},
          {"before", server.before},
          {"after", server.after}};
}

ServerFacts server_from(const Json& json) {
  ServerFacts server;
  server.address = json.at("address");
  server.version = json.at("version");
  server.cpu_source = json.at("cpu_source");
  server.pid = json.at("pid");
  server.before_unix_ms = json.at("before_unix_ms");
  server.after_unix_ms = json.at("after_unix_ms");
  server.cpu_before_ns = json.at("cpu_before_ns");
  server.cpu_after_ns = json.at("cpu_after_ns");
  server.before = json.at("before").get<Counters>();
  server.after = json.at("after").get<Counters>();
  return server;
}

RunResult result_from(const Json& json) {
  if (!json.is_object() || json.value("format", "") != kFormat) {
    throw std::runtime_error("not a result of mxkv-ycsb");
  }
  if (json.at("format_version") != kFormatVersion ||
      json.at("histogram_precision_bits") != Histogram::kPrecisionBits) {
    throw std::runtime_error("written by another version of mxkv-ycsb, in another format");
  }
  RunResult result;
  RunFigures& figures = result.figures;
  figures.run_time_ms = json.at("run_time_ms");
  figures.start_unix_ms = json.at("start_unix_ms");
  figures.client_cpu_ns = json.at("client_cpu_ns");
  figures.warmup_ms = json.at("warmup_ms");
  figures.interrupted = json.value("interrupted", false);  // older results do not say
  const Json& warmup = json.at("warmup");
  figures.warmup = {warmup.at("operations"), warmup.at("misses"), warmup.at("failures")};
  result.problem = json.at("problem");
  result.refusal = json.value("refusal", "");
  result.first_wrong = json.value("first_wrong", "");
  result.first_missing = json.value("first_missing", "");
  result.tally = tally_from(json.at("results"));
  result.tally.halves = json.at("read_modify_write_halves");
  result.tally.retries = json.at("retries");
  if (const auto cache = json.find("cache"); cache != json.end()) {  // only a trace has them
    result.tally.cache = {cache->at("hits"), cache->at("misses"), cache->at("hit_bytes"),
                          cache->at("miss_bytes")};
  }
  result.schedule = schedule_from(json.at("schedule"));
  for (const Json& client : json.at("clients")) {
    result.clients.push_back(client_from(client));
  }
  for (const Json& server : json.at("servers")) {
    result.servers.push_back(server_from(server));
  }
  result.series = series_from(json.at("series"));
  return result;
}

}  // namespace

std::string to_json(const RunResult& result) {
  Json json = {{"format", kFormat},
               {"format_version", kFormatVersion},
               {"histogram_precision_bits", Histogram::kPrecisionBits},
               {"run_time_ms", result.figures.run_time_ms},
               {"operations", result.tally.operations()},
               {"ops_per_s", result.throughput()},
               {"failures", result.failures(false)},
               {"read_modify_write_halves", result.tally.halves},
               {"retries", result.tally.retries},
               {"problem", result.problem},
               {"refusal", result.refusal},
               {"first_wrong", result.first_wrong},
               {"first_missing", result.first_missing},
               {"start_unix_ms", result.figures.start_unix_ms},
               {"warmup_ms", result.figures.warmup_ms},
               {"interrupted", result.figures.interrupted},
               {"warmup",
                {{"operations", result.figures.warmup.operations},
                 {"misses", result.figures.warmup.misses},
                 {"failures", result.figures.warmup.failures}}},
               {"client_cpu_ns", result.figures.client_cpu_ns},
               {"server_cpu_ns_per_op", result.server_cpu_ns_per_operation()}};
  if (const CacheFigures& cache = result.tally.cache; cache.hits + cache.misses > 0) {
    json["cache"] = {{"hits", cache.hits},
                     {"misses", cache.misses},
                     {"hit_bytes", cache.hit_bytes},
                     {"miss_bytes", cache.miss_bytes},
                     {"hit_ratio", cache.hit_ratio()},
                     {"byte_hit_ratio", cache.byte_hit_ratio()}};
  }
  json["schedule"] = schedule_json(result.schedule);
  json["clients"] = Json::array();
  for (const ClientFacts& client : result.clients) {
    json["clients"].push_back(client_json(client));
  }
  json["servers"] = Json::array();
  for (const ServerFacts& server : result.servers) {
    json["servers"].push_back(server_json(server));
  }
  json["results"] = tally_json(result.tally);
  json["series"] = series_json(result.series);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

runtime::Result<RunResult> from_json(const std::string& text) {
  try {
    return result_from(Json::parse(text));
  } catch (const std::exception& error) {
    return runtime::Error{error.what()};
  }
}

}  // namespace mxkv::bench
