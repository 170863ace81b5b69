#include "bench/client/report.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstdarg>
#include <cstdio>

#include "bench/report/percentiles.hpp"

namespace mxkv::bench {
namespace {

__attribute__((format(printf, 2, 3))) void append(std::string& out, const char* format, ...) {
  char line[512];
  std::va_list arguments;
  va_start(arguments, format);
  const int length = std::vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  out.append(line, static_cast<std::size_t>(length));
}

void append_latency(std::string& out, const char* name, const Histogram& latency) {
  append(out, "[%s], Operations, %" PRIu64 "\n", name, latency.count());
  append(out, "[%s], AverageLatency(us), %.3f\n", name, latency.mean() / 1000);
  append(out, "[%s], MinLatency(us), %" PRIu64 "\n", name, latency.min() / 1000);
  append(out, "[%s], MaxLatency(us), %" PRIu64 "\n", name, latency.max() / 1000);
  for (const NamedPercentile& percentile : kPercentiles) {
    append(out, "[%s], %sPercentileLatency(us), %" PRIu64 "\n", name, percentile.label.data(),
           latency.percentile(percentile.percent) / 1000);
  }
}

void append_kind(std::string& out, const std::string& name, const KindTally& kind) {
  append_latency(out, name.c_str(), kind.latency);
  const struct {
    const char* label;
    std::uint64_t count;
  } returns[] = {{"OK", kind.ok},
                 {"NOT_FOUND", kind.not_found},
                 {"UNEXPECTED_STATE", kind.wrong},
                 {"ERROR", kind.error}};
  for (const auto& [label, count] : returns) {
    if (count > 0) {
      append(out, "[%s], Return=%s, %" PRIu64 "\n", name.c_str(), label, count);
    }
  }
  if (kind.intended.count() > 0) {
    append_latency(out, ("Intended-" + name).c_str(), kind.intended);
  }
}

void append_schedule(std::string& out, const ScheduleFigures& schedule) {
  append(out, "[SCHEDULE], Target(ops/sec), %.3f\n", schedule.rate_per_s);
  append(out, "[SCHEDULE], MaxLag(ms), %.3f\n", static_cast<double>(schedule.max_lag_ns) / 1e6);
  append(out, "[SCHEDULE], LastLag(ms), %.3f\n", static_cast<double>(schedule.last_lag_ns) / 1e6);
  append(out, "[SCHEDULE], Unsent, %" PRIu64 "\n", schedule.unsent);
  append(out, "[SCHEDULE], FellBehind, %d\n", schedule.fell_behind() ? 1 : 0);
}

void append_cache(std::string& out, const CacheFigures& cache) {
  append(out, "[CACHE], Hits, %" PRIu64 "\n", cache.hits);
  append(out, "[CACHE], Misses, %" PRIu64 "\n", cache.misses);
  append(out, "[CACHE], HitRatio, %.6f\n", cache.hit_ratio());
  append(out, "[CACHE], ByteHitRatio, %.6f\n", cache.byte_hit_ratio());
}

void append_verified(std::string& out, const Tally& tally) {
  std::uint64_t verified = 0;
  std::uint64_t wrong = 0;
  std::uint64_t missing = 0;
  for (const OperationKind kind :
       {OperationKind::read, OperationKind::scan, OperationKind::multi_read, OperationKind::locked_scan}) {
    verified += tally.of(kind).ok;
    wrong += tally.of(kind).wrong;
    missing += tally.of(kind).not_found;
  }
  append(out, "[VERIFY], Operations, %" PRIu64 "\n", verified + wrong + missing);
  append(out, "[VERIFY], Return=OK, %" PRIu64 "\n", verified);
  append(out, "[VERIFY], Return=UNEXPECTED_STATE, %" PRIu64 "\n", wrong);
  append(out, "[VERIFY], Return=ERROR, %" PRIu64 "\n", missing);
}

/// Seconds until the end, by the remaining operations or the remaining time, whichever comes first; below 0
/// if unknown.
double seconds_left(const Progress& progress) {
  double left = -1;
  if (progress.total_operations > progress.operations && progress.operations > 0) {
    const auto operations = static_cast<double>(progress.total_operations - progress.operations);
    left = operations * static_cast<double>(progress.elapsed_ms) / static_cast<double>(progress.operations) /
           1000;
  }
  if (progress.total_ms > 0) {
    const std::uint64_t ms = progress.total_ms - std::min(progress.total_ms, progress.elapsed_ms);
    const double by_time = static_cast<double>(ms) / 1000;
    left = left < 0 ? by_time : std::min(left, by_time);
  }
  return left;
}

double rate(std::uint64_t operations, std::uint64_t ms) {
  return ms > 0 ? 1000.0 * static_cast<double>(operations) / static_cast<double>(ms) : 0.0;
}

}  // namespace

std::string progress_line(const Progress& progress, const std::string& date) {
  std::string out = progress.label.empty() ? date : progress.label + " " + date;
  append(out, " %" PRIu64 " sec: %" PRIu64 " operations; ", progress.elapsed_ms / 1000, progress.operations);
  if (progress.operations > 0 && progress.interval_ms > 0) {
    append(out, "%.1f current ops/sec; %.1f mean ops/sec; ",
           rate(progress.interval_operations, progress.interval_ms),
           rate(progress.operations, progress.elapsed_ms));
  }
  if (const double left = seconds_left(progress); left >= 0) {
    append(out, "est completion in %.0f seconds ", left);
  }
  for (std::size_t i = 0; i < kOperationKinds; ++i) {
    const SparseHistogram& latency = progress.recent.latency[i];
    if (latency.count() > 0) {
      append(out,
             "[%s: Count=%" PRIu64 ", Max=%" PRIu64 ", Min=%" PRIu64 ", Avg=%.1f, 50=%" PRIu64 ", 99=%" PRIu64
             ", 99.9=%" PRIu64 "] ",
             report_name(static_cast<OperationKind>(i)).data(), latency.count(), latency.max() / 1000,
             latency.min() / 1000, latency.mean() / 1000, latency.percentile(50) / 1000,
             latency.percentile(99) / 1000, latency.percentile(99.9) / 1000);
    }
  }
  out.erase(out.find_last_not_of(' ') + 1);
  return out;
}

std::string schedule_warning(const ScheduleFigures& schedule) {
  std::string out;
  if (schedule.fell_behind()) {
    append(out,
           "the schedule of %.0f operations per second was missed: up to %.0f ms late, %.0f ms at the end, "
           "%" PRIu64 " not sent",
           schedule.rate_per_s, static_cast<double>(schedule.max_lag_ns) / 1e6,
           static_cast<double>(schedule.last_lag_ns) / 1e6, schedule.unsent);
  }
  return out;
}

std::string report(const RunResult& result) {
  std::string out;
  const std::uint64_t operations = result.tally.operations();
  append(out, "[OVERALL], RunTime(ms), %" PRIu64 "\n", result.figures.run_time_ms);
  append(out, "[OVERALL], Throughput(ops/sec), %.3f\n", result.throughput());
  if (result.figures.interrupted) {
    append(out, "[OVERALL], Interrupted, 1\n");
  }
  if (result.figures.warmup_ms > 0) {
    append(out, "[WARMUP], RunTime(ms), %" PRIu64 "\n", result.figures.warmup_ms);
    append(out, "[WARMUP], Operations, %" PRIu64 "\n", result.figures.warmup.operations);
  }
  if (result.schedule.rate_per_s > 0) {
    append_schedule(out, result.schedule);
  }
  append(out, "[CLIENT], CPU(ns/op), %.1f\n",
         operations > 0 ? static_cast<double>(result.figures.client_cpu_ns) / static_cast<double>(operations)
                        : 0.0);
  if (result.server_cpu_ns_per_operation() > 0) {
    append(out, "[SERVER], CPU(ns/op), %.1f\n", result.server_cpu_ns_per_operation());
  }
  if (result.tally.cache.hits + result.tally.cache.misses > 0) {
    append_cache(out, result.tally.cache);
  }
  for (std::size_t i = 0; i < kOperationKinds; ++i) {
    const auto kind = static_cast<OperationKind>(i);
    if (result.tally.of(kind).latency.count() > 0) {
      append_kind(out, std::string(report_name(kind)), result.tally.of(kind));
    }
  }
  append_verified(out, result.tally);
  return out;
}

}  // namespace mxkv::bench
