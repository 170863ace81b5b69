#include "bench/client/runner.hpp"

#include <sys/resource.h>
#include <time.h>

#include <array>
#include <condition_variable>
#include <cstdio>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "bench/client/client_thread.hpp"
#include "bench/client/scan_check.hpp"
#include "bench/client/wire.hpp"

namespace mxkv::bench {
namespace {

constexpr std::uint64_t kNsPerMs = 1'000'000;
constexpr std::uint64_t kNsPerS = 1'000'000'000;

std::uint64_t process_cpu_ns() noexcept {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto nanoseconds = [](const timeval& time) {
    return static_cast<std::uint64_t>(time.tv_sec) * kNsPerS +
           static_cast<std::uint64_t>(time.tv_usec) * 1000;
  };
  return nanoseconds(usage.ru_utime) + nanoseconds(usage.ru_stime);
}

/// As YCSB writes it: 2024-01-31 12:00:00:123.
std::string date_now() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  tm local{};
  ::localtime_r(&now.tv_sec, &local);
  std::array<char, 32> seconds{};
  std::strftime(seconds.data(), seconds.size(), "%Y-%m-%d %H:%M:%S", &local);
  std::array<char, 8> millis{};
  std::snprintf(millis.data(), millis.size(), ":%03d", static_cast<int>(now.tv_nsec / 1'000'000));
  return std::string(seconds.data()) + millis.data();
}

std::unique_ptr<Wire> make_wire(const Options& options, const RecordShape& shape) {
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

/// The client threads of one run and the line that says how far they are.
class Run {
 public:
  Run(const Options& options, SharedWorkload& workload, const Wire& wire)
      : options_(options), start_ns_(monotonic_ns()) {
    ClientOptions client;
    client.depth = options.depth;
    client.refill = options.refill;
    client.deadline_ns = options.max_execution_s != 0 ? start_ns_ + options.max_execution_s * kNsPerS : 0;
    for (std::uint32_t i = 0; i < options.threads; ++i) {
      client.connections =
          options.connections / options.threads + (i < options.connections % options.threads ? 1 : 0);
      clients_.push_back(std::make_unique<ClientThread>(wire, workload, i, options.threads, client));
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
    const std::uint64_t cpu_before = process_cpu_ns();
    start_ns_ = monotonic_ns();
    {
      std::vector<std::jthread> threads;
      threads.reserve(clients_.size());
      for (auto& client : clients_) {
        threads.emplace_back([this, &client] {
          client->run();
          const std::lock_guard lock(mutex_);
          ++finished_;
          all_finished_.notify_one();
        });
      }
      report_progress();
    }
    RunResult result;
    result.figures.run_time_ms = (monotonic_ns() - start_ns_) / kNsPerMs;
    result.figures.client_cpu_ns = process_cpu_ns() - cpu_before;
    for (const auto& client : clients_) {
      result.tally.merge(client->tally());
      if (result.problem.empty()) {
        result.problem = client->problem();
      }
    }
    return result;
  }

 private:
  void report_progress() {
    const std::uint64_t interval_ns = options_.status_interval_s * kNsPerS;
    std::uint64_t last_ns = start_ns_;
    std::uint64_t last_operations = 0;
    std::unique_lock lock(mutex_);
    const auto all_finished = [this] { return finished_ == clients_.size(); };
    if (interval_ns == 0) {
      all_finished_.wait(lock, all_finished);
      return;
    }
    while (!all_finished_.wait_for(lock, std::chrono::nanoseconds(interval_ns), all_finished)) {
      const std::uint64_t now_ns = monotonic_ns();
      Progress progress;
      for (const auto& client : clients_) {
        progress.operations += client->operations_done();
      }
      progress.elapsed_ms = (now_ns - start_ns_) / kNsPerMs;
      progress.interval_ms = (now_ns - last_ns) / kNsPerMs;
      progress.interval_operations = progress.operations - last_operations;
      progress.total_operations =
          options_.workload.load ? options_.workload.existing() : options_.workload.operation_count;
      std::fprintf(stderr, "%s\n", progress_line(progress, date_now()).c_str());
      last_ns = now_ns;
      last_operations = progress.operations;
    }
  }

  const Options& options_;
  std::uint64_t start_ns_;
  std::vector<std::unique_ptr<ClientThread>> clients_;
  std::mutex mutex_;  // guards finished_
  std::condition_variable all_finished_;
  std::size_t finished_ = 0;
};

}  // namespace

runtime::Result<RunResult> run_client(const Options& options) {
  const WorkloadSpec& spec = options.workload;
  const KeyFormat keys(spec.zero_padding);
  RecordShape shape{keys, FieldFormat(spec.fields, keys), nullptr};
  std::unique_ptr<LoadedKeys> loaded;
  if (!spec.load && spec.mix.scan > 0) {
    loaded = std::make_unique<LoadedKeys>(
        spec, keys, options.server_kind == ServerKind::redis ? ScanOrder::score : ScanOrder::key);
    shape.loaded = loaded.get();
  }
  SharedWorkload workload(spec);
  const std::unique_ptr<Wire> wire = make_wire(options, shape);
  Run run(options, workload, *wire);
  if (auto connected = run.connect(); !connected) {
    return connected.error();
  }
  return run.run();
}

int exit_code_of(const RunResult& result, bool misses_allowed, std::uint64_t max_failures) noexcept {
  return result.problem.empty() && result.tally.failures(misses_allowed) <= max_failures ? 0 : 1;
}

}  // namespace mxkv::bench
