#include "bench/report/run_result.hpp"

#include <algorithm>

namespace mxkv::bench {
namespace {

constexpr std::uint64_t kMsPerS = 1000;

void merge_figures(RunFigures& sum, const RunFigures& other) noexcept {
  const std::uint64_t end =
      std::max(sum.start_unix_ms + sum.run_time_ms, other.start_unix_ms + other.run_time_ms);
  sum.start_unix_ms = std::min(sum.start_unix_ms, other.start_unix_ms);
  sum.run_time_ms = end - sum.start_unix_ms;
  sum.client_cpu_ns += other.client_cpu_ns;
  sum.warmup_ms = std::max(sum.warmup_ms, other.warmup_ms);
  sum.interrupted = sum.interrupted || other.interrupted;
  sum.warmup.operations += other.warmup.operations;
  sum.warmup.misses += other.warmup.misses;
  sum.warmup.failures += other.warmup.failures;
}

/// Each client of a server read its counters: the earliest reading is the one before, the latest the one
/// after.
void merge_server(ServerFacts& sum, const ServerFacts& other) {
  if (other.before_unix_ms < sum.before_unix_ms) {
    sum.before_unix_ms = other.before_unix_ms;
    sum.cpu_before_ns = other.cpu_before_ns;
    sum.before = other.before;
  }
  if (other.after_unix_ms > sum.after_unix_ms) {
    sum.after_unix_ms = other.after_unix_ms;
    sum.cpu_after_ns = other.cpu_after_ns;
    sum.after = other.after;
  }
}

}  // namespace

std::uint64_t RunResult::failures(bool misses_allowed) const noexcept {
  return tally.failures(misses_allowed) + figures.warmup.failures +
         (misses_allowed ? 0 : figures.warmup.misses);
}

std::string RunResult::first_failure(bool misses_allowed) const {
  if (!refusal.empty()) {
    return "the server said: " + refusal;
  }
  if (!first_wrong.empty()) {
    return "the first with a wrong reply: " + first_wrong;
  }
  if (misses_allowed || first_missing.empty()) {
    return {};
  }
  return "the first: " + first_missing +
         " (were the records loaded with the same recordcount, insertorder and " +
         "zeropadding, and were none evicted?)";
}

double RunResult::throughput() const noexcept {
  return figures.run_time_ms > 0
             ? static_cast<double>(tally.operations()) * kMsPerS / static_cast<double>(figures.run_time_ms)
             : 0;
}

double RunResult::server_cpu_ns_per_operation() const noexcept {
  std::uint64_t cpu_ns = 0;
  for (const ServerFacts& server : servers) {
    cpu_ns += server.cpu_ns();
  }
  const std::uint64_t operations = tally.operations();
  return operations > 0 ? static_cast<double>(cpu_ns) / static_cast<double>(operations) : 0;
}

std::vector<std::string> doubts_of_merging(const std::vector<RunResult>& results) {
  std::vector<std::string> doubts;
  const auto name = [&results](std::size_t i) {
    const std::string label = results[i].clients.empty() ? "" : results[i].clients.front().label;
    return "result " + std::to_string(i + 1) + (label.empty() ? "" : " (" + label + ")");
  };
  const auto seconds = [](std::uint64_t ms) { return std::to_string((ms + kMsPerS / 2) / kMsPerS) + " s"; };
  std::uint64_t begin = 0;  // of the seconds that all clients have
  std::uint64_t end = ~std::uint64_t{0};
  std::size_t last_to_begin = 0;
  std::size_t first_to_end = 0;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const RunFigures& figures = results[i].figures;
    if (figures.start_unix_ms > begin) {
      begin = figures.start_unix_ms;
      last_to_begin = i;
    }
    if (figures.start_unix_ms + figures.run_time_ms < end) {
      end = figures.start_unix_ms + figures.run_time_ms;
      first_to_end = i;
    }
    const bool paced = results[i].schedule.rate_per_s > 0;
    if (i > 0 && paced != (results.front().schedule.rate_per_s > 0)) {
      doubts.push_back("some were paced by --target and some were not: " + name(0) + " and " + name(i) +
                       "; the sum has no target of its own");
      break;
    }
  }
  if (results.size() > 1 && begin >= end) {
    doubts.push_back("they did not run at the same time: " + name(first_to_end) + " ended " +
                     seconds(begin - end) + " before " + name(last_to_begin) +
                     " began; the throughput is over the time from the first to the last");
  }
  return doubts;
}

void merge_into(RunResult& sum, const RunResult& other) {
  const std::uint64_t start_ms = std::min(sum.figures.start_unix_ms, other.figures.start_unix_ms);
  const auto offset_of = [start_ms](const RunResult& result) {
    return static_cast<std::size_t>((result.figures.start_unix_ms - start_ms + kMsPerS / 2) / kMsPerS);
  };
  Series series;
  for (std::size_t i = 0; i < sum.series.size(); ++i) {
    add_second(series, offset_of(sum) + i, sum.series[i]);
  }
  for (std::size_t i = 0; i < other.series.size(); ++i) {
    add_second(series, offset_of(other) + i, other.series[i]);
  }
  sum.series = std::move(series);
  sum.tally.merge(other.tally);
  merge_figures(sum.figures, other.figures);
  sum.schedule.merge(other.schedule);
  sum.clients.insert(sum.clients.end(), other.clients.begin(), other.clients.end());
  for (const ServerFacts& server : other.servers) {
    const auto same =
        std::find_if(sum.servers.begin(), sum.servers.end(),
                     [&server](const ServerFacts& known) { return known.address == server.address; });
    if (same == sum.servers.end()) {
      sum.servers.push_back(server);
    } else {
      merge_server(*same, server);
    }
  }
  if (sum.refusal.empty()) {
    sum.refusal = other.refusal;
  }
  if (sum.first_wrong.empty()) {
    sum.first_wrong = other.first_wrong;
  }
  if (sum.first_missing.empty()) {
    sum.first_missing = other.first_missing;
  }
  if (sum.problem.empty()) {
    sum.problem = other.problem;
  }
}

}  // namespace mxkv::bench
