#include "bench/client/runner.hpp"

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <limits>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "bench/client/client_thread.hpp"
#include "bench/client/scan_check.hpp"
#include "bench/client/series.hpp"
#include "bench/client/server_watch.hpp"
#include "bench/client/units.hpp"
#include "bench/client/wire.hpp"
#include "bench/report/clocks.hpp"
#include "bench/workload/trace.hpp"

namespace mxkv::bench {
namespace {

std::unique_ptr<Wire> make_wire(const Options& options, const RecordShape& shape) {
  if (options.workload.replay.trace != nullptr) {
    return make_trace_wire(*options.workload.replay.trace, options.server_kind == ServerKind::redis);
  }
  switch (options.server_kind) {
    case ServerKind::mxkv:
    case ServerKind::memcached:
      break;
    case ServerKind::redis:
      return make_redis_wire(shape, options.redis);
    case ServerKind::redis_lex:
      return make_redis_lex_wire(shape);
    case ServerKind::echo:
      return make_echo_wire(shape);
  }
  return make_memcached_wire(shape);
}

/// The client threads of one run, and its progress line.
class Run {
 public:
  Run(const Options& options, SharedWorkload& workload, const Wire& wire, ServerWatch& server,
      const Interrupt* interrupt)
      : options_(options), server_(server) {
    times_.interrupt = interrupt;
    ClientOptions client;
    client.depth = options.depth;
    client.refill = options.refill;
    client.pace = {options.target_ops_per_s, options.arrivals,     options.sine, 0,
                   options.threads,          options.workload.seed};
    if (const TraceReplay& replay = options.workload.replay; replay.trace != nullptr && replay.speed > 0) {
      client.pace.trace = replay.trace.get();
      client.pace.trace_speed = replay.speed;
      client.pace.rate_per_s =
          static_cast<double>(replay.trace->size()) / replay.trace->length_s() * replay.speed;
    }
    for (std::uint32_t i = 0; i < options.threads; ++i) {
      client.connections =
          options.connections / options.threads + (i < options.connections % options.threads ? 1 : 0);
      client.pace.index = i;
      clients_.push_back(std::make_unique<ClientThread>(wire, workload, i, options.threads, client, series_));
    }
  }

  runtime::Result<std::size_t> connect() {
    for (auto& client : clients_) {
      if (auto connected = client->connect(options_.server); !connected) {
        return connected;
      }
    }
    return clients_.size();
  }

  RunResult run() {
    times_.start_ns = end_ns_ = monotonic_ns();
    times_.warmup_ns = options_.warmup_ms * kNsPerMs;
    times_.deadline_ns =
        options_.max_execution_s != 0 ? times_.start_ns + options_.max_execution_s * kNsPerS : 0;
    RunResult result;
    result.figures.start_unix_ms = unix_ms() + options_.warmup_ms;
    result.figures.warmup_ms = options_.warmup_ms;
    cpu_before_ns_ = process_cpu_ns();
    {
      std::vector<std::jthread> threads;
      threads.reserve(clients_.size());
      for (auto& client : clients_) {
        threads.emplace_back([this, &client] {
          client->run(times_);
          const std::lock_guard lock(mutex_);
          ++finished_;
          end_ns_ = std::max(end_ns_, monotonic_ns());
          all_finished_.notify_one();
        });
      }
      watch();
    }
    collect(result);
    return result;
  }

 private:
  void collect(RunResult& result) {
    const std::uint64_t measure_ns = times_.start_ns + times_.warmup_ns;
    result.figures.run_time_ms = (end_ns_ - std::min(end_ns_, measure_ns)) / kNsPerMs;
    result.figures.client_cpu_ns = process_cpu_ns() - cpu_before_ns_;
    for (const auto& client : clients_) {
      const Recorder& recorder = client->recorder();
      result.tally.merge(recorder.measured());
      result.figures.warmup.operations += recorder.warmup().operations;
      result.figures.warmup.misses += recorder.warmup().misses;
      result.figures.warmup.failures += recorder.warmup().failures;
      result.schedule.merge(client->schedule());
      if (result.refusal.empty()) {
        result.refusal = client->refusal();
      }
      if (result.first_wrong.empty()) {
        result.first_wrong = client->first_wrong();
      }
      if (result.first_missing.empty()) {
        result.first_missing = client->first_missing();
      }
      if (result.problem.empty()) {
        result.problem = client->problem();
      }
    }
    result.series = series_.all();
    result.figures.interrupted = times_.interrupt != nullptr && times_.interrupt->signal() != 0;
    if (result.problem.empty() && result.tally.operations() == 0 && times_.warmup_ns > 0) {
      result.problem =
          "the run ended within its warm-up: nothing was measured; raise the run's length or lower --warmup";
    }
  }

  /// Waits for the threads; meanwhile prints lines, and looks at the server when the warm-up is over.
  void watch() {
    const std::uint64_t status_ns = options_.status_interval_s * kNsPerS;
    std::uint64_t next_status_ns = status_ns != 0 ? times_.start_ns + status_ns + kLateThreadNs : kNever;
    std::uint64_t next_measure_ns = times_.warmup_ns != 0 ? times_.start_ns + times_.warmup_ns : kNever;
    std::uint64_t next_lag_ns = options_.target_ops_per_s > 0 ? times_.start_ns + kNsPerS : kNever;
    while (!wait_until(std::min({next_status_ns, next_measure_ns, next_lag_ns}))) {
      const std::uint64_t now_ns = monotonic_ns();
      if (now_ns >= next_measure_ns) {
        next_measure_ns = kNever;
        server_.look_before();
        cpu_before_ns_ = process_cpu_ns();
      }
      if (now_ns >= next_status_ns) {
        next_status_ns += status_ns;
        print_progress(now_ns);
      }
      if (now_ns >= next_lag_ns) {
        next_lag_ns = warn_of_lag() ? kNever : now_ns + kNsPerS;
      }
    }
  }

  /// Whether all threads have finished by then.
  bool wait_until(std::uint64_t ns) {
    std::unique_lock lock(mutex_);
    const auto all_finished = [this] { return finished_ == clients_.size(); };
    if (ns == kNever) {
      all_finished_.wait(lock, all_finished);
      return true;
    }
    const std::uint64_t now_ns = monotonic_ns();
    return all_finished_.wait_for(lock, std::chrono::nanoseconds(ns - std::min(ns, now_ns)), all_finished);
  }

  bool warn_of_lag() {
    std::uint64_t lag_ns = 0;
    for (const auto& client : clients_) {
      lag_ns = std::max(lag_ns, client->lag_ns());
    }
    if (lag_ns <= ScheduleFigures::kLateNs) {
      return false;
    }
    std::fprintf(stderr,
                 "mxkv-ycsb: warning: %llu ms behind the schedule of %.0f operations per second; latencies "
                 "from the due "
                 "time grow with it\n",
                 static_cast<unsigned long long>(lag_ns / kNsPerMs), options_.target_ops_per_s);
    return true;
  }

  void print_progress(std::uint64_t now_ns) {
    Progress progress;
    for (const auto& client : clients_) {
      progress.operations += client->operations_done();
    }
    progress.label = options_.label;
    progress.elapsed_ms = (now_ns - times_.start_ns) / kNsPerMs;
    progress.interval_ms = (now_ns - std::max(last_ns_, times_.start_ns)) / kNsPerMs;
    progress.interval_operations = progress.operations - last_operations_;
    progress.total_operations =
        options_.workload.load ? options_.workload.existing() : options_.workload.operation_count;
    if (const auto& trace = options_.workload.replay.trace; trace != nullptr) {
      progress.total_operations =
          std::min<std::uint64_t>(progress.total_operations - 1, trace->size() - 1) + 1;  // 0: all
    }
    progress.total_ms = options_.max_execution_s * 1000;
    progress.recent = series_.take_recent();
    std::fprintf(stderr, "%s\n", progress_line(progress, date_now()).c_str());
    last_ns_ = now_ns;
    last_operations_ = progress.operations;
  }

  static constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();
  /// Threads add a second to the series when they next wake, so a slightly later line has the whole second.
  static constexpr std::uint64_t kLateThreadNs = 20 * kNsPerMs;

  const Options& options_;
  ServerWatch& server_;
  SharedSeries series_;
  RunTimes times_;
  std::uint64_t cpu_before_ns_ = 0;
  std::uint64_t last_ns_ = 0;  // of the last progress line
  std::uint64_t last_operations_ = 0;
  std::vector<std::unique_ptr<ClientThread>> clients_;
  std::mutex mutex_;  // guards finished_ and end_ns_
  std::condition_variable all_finished_;
  std::size_t finished_ = 0;
  std::uint64_t end_ns_ = 0;
};

}  // namespace

runtime::Result<RunResult> run_client(const Options& options, const Interrupt* interrupt) {
  const WorkloadSpec& spec = options.workload;
  const KeyFormat keys(spec.zero_padding);
  RecordShape shape{
      keys,      FieldFormat(spec.fields, keys), nullptr, MultiReadKeys(spec), ManyKeysShape(spec.mix),
      spec.ttl_s};
  std::unique_ptr<LoadedKeys> loaded;
  if (!spec.load && spec.replay.trace == nullptr && spec.mix.ranges()) {
    loaded = std::make_unique<LoadedKeys>(
        spec, keys, options.server_kind == ServerKind::redis ? ScanOrder::score : ScanOrder::key);
    shape.loaded = loaded.get();
  }
  SharedWorkload workload(spec);
  const std::unique_ptr<Wire> wire = make_wire(options, shape);
  ServerWatch server(options);
  RunResult result;
  {
    Run run(options, workload, *wire, server, interrupt);
    if (auto connected = run.connect(); !connected) {
      return connected.error();
    }
    if (options.warmup_ms == 0) {
      server.look_before();
    }
    result = run.run();
  }
  server.look_after(result);
  return result;
}

int exit_code_of(const RunResult& result, bool misses_allowed, std::uint64_t max_failures) noexcept {
  return result.problem.empty() && result.failures(misses_allowed) <= max_failures ? 0 : 1;
}

}  // namespace mxkv::bench
