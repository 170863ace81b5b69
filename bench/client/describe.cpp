#include "bench/client/describe.hpp"

#include <fmt/format.h>

#include <array>

#include "bench/report/machine.hpp"

namespace mxkv::bench {
namespace {

constexpr std::array kDistributions{"uniform",     "zipfian", "latest",   "sequential",
                                    "exponential", "hotspot", "keyranges"};
constexpr std::array kScanLengths{"uniform", "zipfian", "pareto"};
constexpr std::array kFieldLengths{"constant", "uniform", "zipfian", "histogram", "pareto", "weighted"};
constexpr std::array kServerKinds{"mxkv", "memcached", "redis", "redis-lex", "echo"};

using Settings = std::vector<std::pair<std::string, std::string>>;

void add_mix(Settings& settings, const Mix& mix) {
  const std::array<std::pair<const char*, double>, kOperationKinds> shares{
      {{"readproportion", mix.read},
       {"updateproportion", mix.update},
       {"insertproportion", mix.insert},
       {"multireadproportion", mix.multi_read},
       {"scanproportion", mix.scan},
       {"lockedscanproportion", mix.locked_scan},
       {"lockedtouchproportion", mix.locked_touch},
       {"batchproportion", mix.batch},
       {"deleteproportion", mix.remove},
       {"readmodifywriteproportion", mix.read_modify_write}}};
  for (const auto& [name, share] : shares) {
    if (share > 0) {
      settings.emplace_back(name, fmt::format("{}", share));
    }
  }
  settings.emplace_back("requestdistribution", kDistributions.at(static_cast<std::size_t>(mix.distribution)));
  if (mix.multi_read > 0) {
    settings.emplace_back("multireadkeys", std::to_string(mix.multi_read_keys));
  }
  if (mix.locked_touch > 0) {
    settings.emplace_back("lockedprefixbytes", std::to_string(mix.locked_prefix_bytes));
    settings.emplace_back("lockedtouchseconds", std::to_string(mix.locked_touch_s));
  }
  if (mix.batch > 0) {
    settings.emplace_back("batchlength", std::to_string(mix.batch_length));
  }
  if (mix.scan > 0 || mix.locked_scan > 0) {
    settings.emplace_back("minscanlength", std::to_string(mix.min_scan_length));
    settings.emplace_back("maxscanlength", std::to_string(mix.max_scan_length));
    settings.emplace_back("scanlengthdistribution",
                          kScanLengths.at(static_cast<std::size_t>(mix.scan_lengths)));
  }
}

}  // namespace

ClientFacts describe(const Options& options, const std::string& command) {
  const WorkloadSpec& workload = options.workload;
  ClientFacts facts;
  facts.version = MXKV_VERSION;
  facts.command = command;
  facts.label = options.label;
  facts.machine = this_machine();
  Settings& settings = facts.settings;
  settings.emplace_back("phase", workload.load ? "load" : "run");
  settings.emplace_back("server", text_of(options.server));
  settings.emplace_back("server-kind", kServerKinds.at(static_cast<std::size_t>(options.server_kind)));
  settings.emplace_back("recordcount", std::to_string(workload.record_count));
  settings.emplace_back("fieldcount", std::to_string(workload.fields.count));
  settings.emplace_back("fieldlength", std::to_string(workload.fields.bytes));
  settings.emplace_back("fieldlengthdistribution",
                        kFieldLengths.at(static_cast<std::size_t>(workload.fields.lengths)));
  settings.emplace_back("ttl", std::to_string(workload.ttl_s));
  if (workload.load) {
    settings.emplace_back("insertstart", std::to_string(workload.insert_start));
    settings.emplace_back("insertcount", std::to_string(workload.existing()));
  } else {
    settings.emplace_back("operationcount", std::to_string(workload.operation_count));
  }
  if (workload.replay.trace != nullptr) {
    settings.emplace_back("trace", options.trace_file);
    settings.emplace_back("trace-speed", fmt::format("{}", workload.replay.speed));
    settings.emplace_back("fill-misses", workload.replay.fill_misses ? "true" : "false");
  } else if (!workload.load) {
    add_mix(settings, workload.mix);
  }
  settings.emplace_back("threads", std::to_string(options.threads));
  settings.emplace_back("connections", std::to_string(options.connections));
  settings.emplace_back("depth", std::to_string(options.depth));
  settings.emplace_back("refill", std::to_string(options.refill));
  settings.emplace_back("target", fmt::format("{}", options.target_ops_per_s));
  if (options.sine.amplitude_per_s != 0) {
    settings.emplace_back("sine_a", fmt::format("{}", options.sine.amplitude_per_s));
    settings.emplace_back("sine_b", fmt::format("{}", options.sine.radians_per_s));
    settings.emplace_back("sine_c", fmt::format("{}", options.sine.phase));
  }
  settings.emplace_back("arrivals", options.arrivals == Arrivals::poisson ? "poisson" : "constant");
  settings.emplace_back("warmup-ms", std::to_string(options.warmup_ms));
  settings.emplace_back("maxexecutiontime", std::to_string(options.max_execution_s));
  settings.emplace_back("seed", std::to_string(workload.seed));
  return facts;
}

}  // namespace mxkv::bench
