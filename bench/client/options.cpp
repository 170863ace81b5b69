#include "bench/client/options.hpp"

#include <algorithm>
#include <map>
#include <string>

#include <CLI/CLI.hpp>

#include "bench/workload/keys.hpp"

namespace mxkv::bench {
namespace {

constexpr int kUsageError = 2;

/// Flags as they stand on the command line, before they are put together.
struct Flags {
  Options options;
  std::string target = "127.0.0.1:11211";
  std::string mix = "c";
  std::string distribution;
  std::size_t field_count = 10;
  std::size_t field_length = 100;
  std::size_t value_bytes = 0;
  std::size_t key_bytes = 0;
  std::uint32_t min_scan_length = 0;
  std::uint32_t max_scan_length = 0;
  bool simple = false;
};

void add_flags(CLI::App& command, Flags& flags) {
  static const std::map<std::string, Protocol> kProtocols{{"memcached", Protocol::memcached},
                                                          {"resp", Protocol::resp},
                                                          {"resp-zset", Protocol::resp_zset},
                                                          {"echo", Protocol::echo}};
  Options& options = flags.options;
  WorkloadSpec& workload = options.workload;
  command.add_option("--target", flags.target, "HOST:PORT of the server")->capture_default_str();
  command.add_option("--protocol", options.protocol, "what the server speaks")
      ->transform(CLI::CheckedTransformer(kProtocols))
      ->default_str("memcached");
  command.add_option("--recordcount", workload.record_count, "records in the store")->capture_default_str();
  command.add_option("--insertstart", workload.insert_start, "first record")->capture_default_str();
  command.add_option("--insertcount", workload.insert_count, "records from there on (0: to recordcount)")
      ->capture_default_str();
  command.add_option("--fieldcount", flags.field_count, "fields a record")->capture_default_str();
  command.add_option("--fieldlength", flags.field_length, "bytes a field")->capture_default_str();
  command.add_option("--value-bytes", flags.value_bytes, "bytes a record, in place of the two above");
  command.add_option("--zeropadding", workload.zero_padding, "least number of digits in a key")
      ->check(CLI::Range(std::size_t{0}, KeyFormat::kMaxPadding))
      ->capture_default_str();
  command
      .add_option("--key-bytes", flags.key_bytes, "keys of exactly this length, in place of --zeropadding")
      ->check(CLI::Range(std::size_t{23}, KeyFormat::kMaxBytes));
  command.add_option("--threads", options.threads, "client threads")
      ->check(CLI::Range(1U, 1024U))
      ->capture_default_str();
  command.add_option("--connections", options.connections, "connections over all threads")
      ->check(CLI::Range(std::size_t{1}, std::size_t{100'000}))
      ->capture_default_str();
  command.add_option("--depth", options.depth, "requests in flight a connection")
      ->check(CLI::Range(std::size_t{1}, std::size_t{65536}))
      ->capture_default_str();
  command
      .add_option("--refill", options.refill,
                  "answered requests before new ones are made (0: all of --depth)")
      ->capture_default_str();
  command.add_option("--maxexecutiontime", options.max_execution_s, "seconds (0: no limit)")
      ->capture_default_str();
  command
      .add_option("--status-interval", options.status_interval_s, "seconds between progress lines (0: none)")
      ->capture_default_str();
  command.add_option("--seed", workload.seed, "of the random numbers")->capture_default_str();
  command.add_flag("--simple", flags.simple, "keys of 24 bytes, values of 100, uniform requests");
}

void add_run_flags(CLI::App& command, Flags& flags) {
  command.add_option("--workload", flags.mix, "a, b, c, d or e as in YCSB; get, set or scan alone, uniform")
      ->capture_default_str();
  command
      .add_option("--operationcount", flags.options.workload.operation_count,
                  "operations (0: time alone limits)")
      ->capture_default_str();
  command.add_option("--requestdistribution", flags.distribution, "uniform, zipfian or latest");
  command.add_option("--minscanlength", flags.min_scan_length, "least records a scan");
  command.add_option("--maxscanlength", flags.max_scan_length, "most records a scan");
  command.add_flag("--allow-misses", flags.options.misses_allowed, "a missing record is no failure");
}

/// Puts the flags together; the text of what is wrong, or empty.
std::string combine(Flags& flags) {
  WorkloadSpec& workload = flags.options.workload;
  const auto mix = mix_by_name(flags.mix);
  if (!mix) {
    return "--workload " + flags.mix + ": unknown workload";
  }
  workload.mix = *mix;
  if (flags.simple) {
    workload.mix.distribution = Distribution::uniform;
    flags.key_bytes = flags.key_bytes != 0 ? flags.key_bytes : 24;
    flags.value_bytes = flags.value_bytes != 0 ? flags.value_bytes : 100;
  }
  if (!flags.distribution.empty()) {
    const auto distribution = distribution_by_name(flags.distribution);
    if (!distribution) {
      return "--requestdistribution " + flags.distribution + ": unknown distribution";
    }
    workload.mix.distribution = *distribution;
  }
  if (flags.max_scan_length != 0) {
    workload.mix.max_scan_length = flags.max_scan_length;
    workload.mix.min_scan_length = std::min(workload.mix.min_scan_length, flags.max_scan_length);
  }
  if (flags.min_scan_length != 0) {
    workload.mix.min_scan_length = flags.min_scan_length;
  }
  if (workload.mix.min_scan_length > workload.mix.max_scan_length) {
    return "--minscanlength is above --maxscanlength";
  }
  workload.value_bytes = flags.value_bytes != 0 ? flags.value_bytes : flags.field_count * flags.field_length;
  if (flags.key_bytes != 0) {
    workload.zero_padding = flags.key_bytes - KeyFormat::kPrefix.size();
  }
  if (workload.record_count <= workload.insert_start ||
      workload.insert_count > workload.record_count - workload.insert_start) {
    return "--recordcount must be at least --insertstart plus --insertcount, and one record is needed";
  }
  if (flags.options.connections < flags.options.threads) {
    flags.options.connections = flags.options.threads;
  }
  if (flags.options.refill == 0 || flags.options.refill > flags.options.depth) {
    flags.options.refill = flags.options.depth;
  }
  if (!workload.load && workload.operation_count == 0 && flags.options.max_execution_s == 0) {
    return "--operationcount 0 needs --maxexecutiontime";
  }
  const bool reads_or_updates = workload.mix.read > 0 || workload.mix.update > 0;
  if (flags.options.protocol == Protocol::resp_zset && !workload.load && reads_or_updates) {
    return "--protocol resp-zset can scan and insert only";
  }
  if (flags.options.protocol == Protocol::resp && !workload.load && workload.mix.scan > 0) {
    return "--protocol resp cannot scan";
  }
  auto target = parse_endpoint(flags.target);
  if (!target) {
    return "--target: " + target.error().message;
  }
  flags.options.target = std::move(target).value();
  return {};
}

}  // namespace

ParsedOptions parse_options(int argc, const char* const* argv) {
  CLI::App app{
      "mxkv-ycsb: loads records into a key-value server and runs YCSB's workloads on it.\n"
      "Every reply is verified; the exit code is 1 if any was missing, wrong or an error."};
  Flags flags;
  CLI::App* load = app.add_subcommand("load", "insert the records");
  CLI::App* run = app.add_subcommand("run", "run a workload on loaded records");
  app.require_subcommand(1);
  add_flags(*load, flags);
  add_flags(*run, flags);
  add_run_flags(*run, flags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsageError;
  }
  flags.options.workload.load = load->parsed();
  if (const std::string problem = combine(flags); !problem.empty()) {
    std::cerr << problem << '\n';
    return kUsageError;
  }
  return flags.options;
}

}  // namespace mxkv::bench
