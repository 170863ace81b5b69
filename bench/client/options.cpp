#include "bench/client/options.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "bench/client/arguments.hpp"
#include "bench/client/help_text.hpp"
#include "bench/workload/core_workload.hpp"
#include "bench/workload/properties.hpp"
#include "bench/workload/trace.hpp"
#include "runtime/base/command_line.hpp"
#include "runtime/base/readable.hpp"

namespace mxkv::bench {
namespace {

const std::map<std::string, ServerKind> kServerKinds{{"mxkv", ServerKind::mxkv},
                                                     {"memcached", ServerKind::memcached},
                                                     {"redis", ServerKind::redis},
                                                     {"redis-lex", ServerKind::redis_lex},
                                                     {"echo", ServerKind::echo}};

/// The flags of the command line, before combine() merges them.
struct Flags {
  Options options;
  std::string server;
  std::optional<ServerKind> server_kind;
  std::string preset;
  std::vector<std::string> files;
  std::vector<std::string> settings;
  bool simple = false;
  TlsOptions tls;
  std::string password_file;
};

/// Adds flags by `add`, under a heading of their own in the help.
template <class Add>
void add_group(CLI::App& command, const char* heading, const Add& add) {
  const std::vector<CLI::Option*> before = command.get_options();
  add();
  for (CLI::Option* const option : command.get_options()) {
    if (std::find(before.begin(), before.end(), option) == before.end()) {
      option->group(heading);
    }
  }
}

/// Flags for the measurement and the result files.
void add_measuring_flags(CLI::App& command, Options& options) {
  static const std::map<std::string, Arrivals> kArrivals{{"constant", Arrivals::constant},
                                                         {"poisson", Arrivals::poisson}};
  static const std::map<std::string, std::uint64_t> kUnits{{"ms", 1}, {"s", 1000}, {"m", 60'000}};
  command
      .add_option("--arrivals", options.arrivals,
                  "with --target: gaps between operations: constant, or poisson (exponential)")
      ->transform(CLI::CheckedTransformer(kArrivals))
      ->option_text("constant|poisson");
  command
      .add_option("--warmup", options.warmup_ms,
                  "operations that end in this time (5s, 500ms) are not measured; they count to the "
                  "operations and to --maxexecutiontime")
      ->transform(CLI::AsNumberWithUnit(kUnits, CLI::AsNumberWithUnit::UNIT_REQUIRED))
      ->option_text("TIME");
  command.add_option("--json", options.json_file, "write the whole result to FILE")->option_text("FILE");
  command.add_option("--csv", options.csv_file, "write a table of the run and of each second to FILE")
      ->option_text("FILE");
  command
      .add_option("--hgrm", options.hgrm_prefix,
                  "write HdrHistogram's percentiles to PREFIX-<OPERATION>.hgrm")
      ->option_text("PREFIX");
  options.server_counters = true;
  command.add_flag("!--no-server-counters", options.server_counters,
                   "do not ask the server for its counters");
}

/// Flags for TLS and login.
void add_door_flags(CLI::App& command, Flags& flags) {
  command.add_flag("--tls", flags.tls.wanted, "use TLS on all connections");
  command.add_option("--ca", flags.tls.ca, "with --tls: authorities that may sign the server's certificate")
      ->option_text("FILE");
  CLI::Option* const certificate =
      command.add_option("--cert", flags.tls.certificate, "with --tls: the client's own certificate")
          ->option_text("FILE");
  CLI::Option* const key =
      command.add_option("--key", flags.tls.key, "with --cert: its key")->option_text("FILE");
  certificate->needs(key);
  key->needs(certificate);
  command.add_flag("--insecure", flags.tls.insecure, "with --tls: accept any server certificate");
  CLI::Option* const user =
      command.add_option("--user", flags.options.server.user, "log in with this name")->option_text("NAME");
  CLI::Option* const password =
      command
          .add_option("--password-file", flags.password_file, "with --user: its first line is the password")
          ->option_text("FILE");
  user->needs(password);
  password->needs(user);
}

void add_flags(CLI::App& command, Flags& flags) {
  Options& options = flags.options;
  command.add_option("-P", flags.files, "file of properties, as YCSB's workload files; later files win")
      ->allow_extra_args(false);
  command
      .add_option("-p", flags.settings,
                  "NAME=VALUE, a property; wins over files, later ones over earlier ones")
      ->allow_extra_args(false);
  command.add_option("--workload", flags.preset,
                     "a to f as in YCSB; mixgraph as in RocksDB's db_bench; get, set, scan or multiget: one "
                     "kind of operation, "
                     "uniform; every -P wins over it");
  command.add_option("--server", flags.server,
                     "HOST:PORT or unix:PATH of the server (127.0.0.1:11211; redis 127.0.0.1:6379)");
  command
      .add_option("--server-kind", flags.server_kind,
                  "kind of server: mxkv, memcached, redis, redis-lex or echo")
      ->transform(CLI::CheckedTransformer(kServerKinds))
      ->option_text("KIND");
  command.add_option("--connections", options.connections, "connections over all threads")
      ->check(CLI::Range(std::size_t{1}, std::size_t{100'000}))
      ->capture_default_str();
  command.add_option("--depth", options.depth, "requests in flight per connection")
      ->check(CLI::Range(std::size_t{1}, std::size_t{65536}))
      ->capture_default_str();
  command
      .add_option("--refill", options.refill,
                  "replies to collect before new requests are sent (0: all of --depth)")
      ->capture_default_str();
  add_group(command, "TLS and login", [&] { add_door_flags(command, flags); });
  add_group(command, "Measurement and results", [&] { add_measuring_flags(command, options); });
  command.add_option("--seed", options.workload.seed, "seed of the random numbers")->capture_default_str();
  command.add_flag("--simple", flags.simple, "keys of 24 bytes, values of 100, uniform requests");
  command.add_flag("--allow-misses", options.misses_allowed, "a missing record is not a failure");
  command
      .add_option("--max-failures", options.max_failures,
                  "number of failed operations at which the exit code is still 0")
      ->capture_default_str();
}

/// Flags of a run that sends a trace's requests.
void add_trace_flags(CLI::App& command, Flags& flags) {
  Options& options = flags.options;
  CLI::Option* const trace = command
                                 .add_option("--trace", options.trace_file,
                                             "send the requests of this trace instead of a mix; - reads "
                                             "standard input (bench/README.md has the "
                                             "columns)")
                                 ->option_text("FILE");
  command
      .add_option("--trace-speed", options.workload.replay.speed,
                  "with --trace: send at the trace's times, so many times faster; 0: as fast as possible")
      ->check(CLI::Range(0.0, 1e6))
      ->needs(trace)
      ->capture_default_str();
  command
      .add_flag("--fill-misses", options.workload.replay.fill_misses,
                "with --trace: set the value, in the trace's length, after a get that misses")
      ->needs(trace);
  command
      .add_option("--trace-value-bytes", options.trace_value_bytes,
                  "with --trace: refuse values above this, the server's limit")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{Trace::kMostValueBytes}))
      ->needs(trace)
      ->capture_default_str();
}

/// Takes the properties of presets, files and settings, in this order. Returns an error text, or an empty
/// one.
std::string collect(const Flags& flags, Properties& properties) {
  if (!flags.preset.empty()) {
    const auto text = preset(flags.preset);
    if (!text) {
      return "--workload: '" + flags.preset +
             "' is not one of a, b, c, d, e, f, mixgraph, get, set, scan, multiget";
    }
    (void)properties.parse(*text, "--workload " + flags.preset);
  }
  if (flags.simple) {
    (void)properties.parse("requestdistribution=uniform\nzeropadding=20\nfieldcount=1\nfieldlength=100\n",
                           "--simple");
  }
  for (const std::string& file : flags.files) {
    if (auto loaded = properties.load(file); !loaded) {
      return loaded.error().message;
    }
  }
  for (const std::string& setting : flags.settings) {
    const std::size_t equals = setting.find('=');
    if (equals == std::string::npos || equals == 0) {
      return "-p: '" + setting + "' is not NAME=VALUE";
    }
    properties.set(setting.substr(0, equals), setting.substr(equals + 1), "-p");
  }
  return {};
}

/// The kind of server by YCSB's name of a binding or its class.
std::optional<ServerKind> kind_of_binding(const std::string& name) {
  if (name == "site.ycsb.db.RedisClient") {
    return ServerKind::redis;
  }
  if (name == "site.ycsb.db.MemcachedClient") {
    return ServerKind::memcached;
  }
  const auto known = kServerKinds.find(name);
  return known != kServerKinds.end() ? std::optional(known->second) : std::nullopt;
}

void read_server(const Flags& flags, PropertyReader& properties, Options& options) {
  const std::string binding = properties.text("db", "");
  if (flags.server_kind) {
    options.server_kind = *flags.server_kind;
  } else if (!binding.empty()) {
    const auto kind = kind_of_binding(binding);
    if (!kind) {
      properties.complain("db", "'" + binding + "' is not one of mxkv, memcached, redis, redis-lex, echo");
    }
    options.server_kind = kind.value_or(ServerKind::mxkv);
  }
  const bool redis = options.server_kind == ServerKind::redis || options.server_kind == ServerKind::redis_lex;
  const std::string redis_host = properties.text("redis.host", "127.0.0.1");
  const bool in_brackets = redis_host.find(':') != std::string::npos && !redis_host.starts_with('[');
  const std::string redis_address =
      (in_brackets ? "[" + redis_host + "]" : redis_host) + ":" + properties.text("redis.port", "6379");
  const std::string other_address = properties.text("memcached.hosts", "127.0.0.1:11211");
  const std::string address = !flags.server.empty() ? flags.server : (redis ? redis_address : other_address);
  auto server = parse_endpoint(address);
  if (!server) {
    properties.complain("--server", server.error().message);
    return;
  }
  server.value().user = options.server.user;
  options.server = std::move(server).value();
  const bool tls_only = !flags.tls.ca.empty() || !flags.tls.certificate.empty() || flags.tls.insecure;
  if (!flags.tls.wanted && tls_only) {
    properties.complain("--tls", "is missing, but --ca, --cert or --insecure needs it");
  }
  if (flags.tls.wanted) {
    auto tls = TlsClient::make(flags.tls);
    if (tls) {
      options.server.tls = std::move(tls).value();
    } else {
      properties.complain("--tls", tls.error().message);
    }
  }
  if (!options.server.user.empty()) {
    std::ifstream file(flags.password_file);
    if (redis || options.server_kind == ServerKind::echo) {
      properties.complain("--user", "is possible only with mxkv and memcached");
    } else if (!std::getline(file, options.server.password)) {
      properties.complain("--password-file", flags.password_file + ": cannot be read, or is empty");
    } else {
      options.server.password = runtime::without_byte_order_mark(options.server.password);
    }
  }
}

void read_redis(PropertyReader& properties, RedisOptions& redis) {
  static_cast<void>(properties.choice("redis.datatype", {"string"}, 0));  // YCSB's other type is refused
  redis.indexed = properties.truth("redis.index", true);
}

/// The rate as a sine, by db_bench's names; sine_d is its mean.
void read_sine(PropertyReader& properties, Options& options) {
  constexpr double kMost = 1e9;
  options.sine.amplitude_per_s = properties.real("sine_a", 0, -kMost, kMost);
  options.sine.radians_per_s = properties.real("sine_b", 0, -kMost, kMost);
  options.sine.phase = properties.real("sine_c", 0, -kMost, kMost);
  const double mean_per_s = properties.real("sine_d", 0, 0, kMost);
  if (mean_per_s == 0 && options.sine.amplitude_per_s == 0) {
    return;
  }
  if (options.target_ops_per_s > 0) {
    properties.complain("target", "sine_d is the mean rate already: leave one of the two out");
  } else if (std::abs(options.sine.amplitude_per_s) >= mean_per_s) {
    properties.complain("sine_a", "must be below sine_d, so that the rate stays above 0");
  }
  options.target_ops_per_s = mean_per_s;
}

void read_client(PropertyReader& properties, Options& options) {
  options.threads = static_cast<std::uint32_t>(properties.whole("threadcount", 1, 1, 1024));
  options.target_ops_per_s = properties.real("target", 0, 0, 1e9);
  read_sine(properties, options);
  options.max_execution_s = properties.whole("maxexecutiontime", 0, 0, 1'000'000'000);
  const std::uint64_t interval_s = properties.whole("status.interval", 10, 0, 1'000'000);
  options.status_interval_s = properties.truth("status", false) ? interval_s : 0;
  options.label = properties.text("label", "");
  if (options.connections < options.threads) {
    options.connections = options.threads;
  }
  if (options.refill == 0 || options.refill > options.depth) {
    options.refill = options.depth;
  }
}

void check_together(PropertyReader& properties, const Options& options) {
  const WorkloadSpec& workload = options.workload;
  if (options.server_kind == ServerKind::echo && workload.fields.lengths != FieldLengths::constant) {
    properties.complain("fieldlengthdistribution", "echo needs constant lengths");
  }
  if (workload.load || !options.trace_file.empty()) {
    return;
  }
  if (workload.operation_count == 0 && options.max_execution_s == 0) {
    properties.complain("operationcount", "0 needs maxexecutiontime");
  }
  if (const auto property = property_of_mxkv(workload.mix);
      !property.empty() && options.server_kind != ServerKind::mxkv) {
    properties.complain(property, "only mxkv has it");
    return;
  }
  const bool scans = workload.mix.scan > 0;
  if (options.server_kind == ServerKind::redis_lex && workload.misses_expected()) {
    properties.complain(workload.ttl_s > 0 ? "ttl" : "deleteproportion",
                        "redis-lex can scan and insert only");
    return;
  }
  const bool many = workload.mix.multi_read > 0;
  const bool points =
      many || workload.mix.read > 0 || workload.mix.update > 0 || workload.mix.read_modify_write > 0;
  if (options.server_kind == ServerKind::memcached && scans) {
    properties.complain("scanproportion", "memcached cannot scan");
  } else if (options.server_kind == ServerKind::redis_lex && points) {
    properties.complain("scanproportion", "redis-lex can scan and insert only");
  } else if (options.server_kind == ServerKind::redis && scans && !options.redis.indexed) {
    properties.complain("scanproportion", "a scan needs redis.index=true");
  }
}

/// Reads the trace, if there is one. Returns an error text, or an empty one.
std::string read_trace(const Flags& flags, PropertyReader& reader, Options& options) {
  if (options.trace_file.empty()) {
    return {};
  }
  if (!flags.preset.empty()) {
    return "--workload: a trace has its own requests: leave --workload or --trace out";
  }
  if (options.server_kind == ServerKind::echo || options.server_kind == ServerKind::redis_lex) {
    return "--trace: needs --server-kind mxkv, memcached or redis";
  }
  if (options.target_ops_per_s > 0 && options.workload.replay.speed > 0) {
    return "--trace-speed: the target is a rate already: leave one of the two out";
  }
  if (!reader.is_set("operationcount")) {
    options.workload.operation_count = 0;  // all
  }
  auto trace = Trace::read(options.trace_file, options.trace_value_bytes);
  if (!trace) {
    return trace.error().message;
  }
  options.workload.replay.trace = std::make_shared<const Trace>(std::move(trace).value());
  options.misses_allowed = true;
  return {};
}

/// Combines the flags into the options. Prints all errors to stderr, and returns whether there were none.
bool combine(Flags& flags, bool load) {
  Properties properties;
  if (const std::string problem = collect(flags, properties); !problem.empty()) {
    std::cerr << "mxkv-ycsb: " << problem << '\n';
    return false;
  }
  PropertyReader reader(properties);
  Options& options = flags.options;
  const std::uint64_t seed = options.workload.seed;
  const TraceReplay replay = options.workload.replay;
  options.workload = read_core_workload(reader, load);
  options.workload.replay = replay;
  options.workload.seed = seed;
  read_server(flags, reader, options);
  read_redis(reader, options.redis);
  options.misses_allowed |= options.workload.misses_expected();
  read_client(reader, options);
  if (reader.problems().empty()) {
    check_together(reader, options);
  }
  for (const std::string& problem : reader.problems()) {
    std::cerr << "mxkv-ycsb: " << problem << '\n';
  }
  if (!reader.problems().empty()) {
    return false;
  }
  if (const std::string problem = read_trace(flags, reader, options); !problem.empty()) {
    std::cerr << "mxkv-ycsb: " << problem << '\n';
    return false;
  }
  for (const std::string& warning : warn_of_unused(properties)) {
    std::cerr << "mxkv-ycsb: warning: " << warning << '\n';
  }
  for (const auto& [name, origin] : properties.unknown()) {
    std::cerr << "mxkv-ycsb: warning: " << origin << ": unknown property " << name << '\n';
  }
  return true;
}

}  // namespace

ParsedOptions parse_options(int argc, const char* const* argv) {
  CLI::App app{
      "mxkv-ycsb: loads records into a key-value server and runs YCSB's workloads on it.\n"
      "Every reply is verified; the exit code is 1 if any was missing, wrong or an error.\n"
      "Results written by --json: `mxkv-ycsb merge` combines them, `mxkv-ycsb plot` draws them.",
      "mxkv-ycsb"};
  Flags flags;
  CLI::App* load = app.add_subcommand("load", "insert the records");
  CLI::App* run = app.add_subcommand("run", "run a workload on loaded records");
  // Both are run_report_command()'s; here they are for the help.
  app.add_subcommand("merge", "combine the results of clients that ran side by side");
  app.add_subcommand("plot", "draw results as a page of charts: plot FILES -o PAGE");
  app.set_version_flag("--version", std::string("mxkv-ycsb ") + MXKV_VERSION);
  app.footer(examples() + "load --help and run --help list the flags.");
  app.require_subcommand(1);
  add_flags(*load, flags);
  add_flags(*run, flags);
  add_group(*run, "Traces", [&] { add_trace_flags(*run, flags); });
  load->footer(footer());
  run->footer(footer());
  auto arguments = translate_arguments({argv + 1, argv + argc});
  if (!arguments) {
    std::cerr << "mxkv-ycsb: " << arguments.error().message << '\n';
    return kUsageError;
  }
  if (const auto code = runtime::parse_or_exit(app, arguments.value(), hints())) {
    return *code;
  }
  return combine(flags, load->parsed()) ? ParsedOptions(flags.options) : ParsedOptions(kUsageError);
}

}  // namespace mxkv::bench
