#include "bench/client/report.hpp"

#include <cinttypes>
#include <cstdarg>
#include <cstdio>

namespace mxkv::bench {
namespace {

__attribute__((format(printf, 2, 3))) void append(std::string& out, const char* format, ...) {
  char line[256];
  std::va_list arguments;
  va_start(arguments, format);
  const int length = std::vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  out.append(line, static_cast<std::size_t>(length));
}

void append_kind(std::string& out, const char* name, const KindTally& kind) {
  struct Percentile {
    const char* label;
    double percent;
  };
  constexpr Percentile kPercentiles[] = {
      {"50th", 50}, {"95th", 95}, {"99th", 99}, {"99.9", 99.9}, {"99.99", 99.99}};
  append(out, "[%s], Operations, %" PRIu64 "\n", name, kind.latency.count());
  append(out, "[%s], AverageLatency(us), %.3f\n", name, kind.latency.mean() / 1000);
  append(out, "[%s], MinLatency(us), %" PRIu64 "\n", name, kind.latency.min() / 1000);
  append(out, "[%s], MaxLatency(us), %" PRIu64 "\n", name, kind.latency.max() / 1000);
  for (const auto& [label, percent] : kPercentiles) {
    append(out, "[%s], %sPercentileLatency(us), %" PRIu64 "\n", name, label,
           kind.latency.percentile(percent) / 1000);
  }
  const struct {
    const char* label;
    std::uint64_t count;
  } returns[] = {{"OK", kind.ok},
                 {"NOT_FOUND", kind.not_found},
                 {"UNEXPECTED_STATE", kind.wrong},
                 {"ERROR", kind.error}};
  for (const auto& [label, count] : returns) {
    if (count > 0) {
      append(out, "[%s], Return=%s, %" PRIu64 "\n", name, label, count);
    }
  }
}

}  // namespace

std::string progress_line(const Progress& progress, const std::string& date) {
  std::string out = date;
  append(out, " %" PRIu64 " sec: %" PRIu64 " operations; ", progress.elapsed_ms / 1000, progress.operations);
  if (progress.operations > 0 && progress.interval_ms > 0) {
    append(out, "%.1f current ops/sec; ",
           1000.0 * static_cast<double>(progress.interval_operations) /
               static_cast<double>(progress.interval_ms));
  }
  if (progress.total_operations > progress.operations && progress.operations > 0) {
    const auto left = static_cast<double>(progress.total_operations - progress.operations);
    append(out, "est completion in %.0f seconds",
           left * static_cast<double>(progress.elapsed_ms) / static_cast<double>(progress.operations) / 1000);
  }
  return out;
}

std::string report(const Tally& tally, const RunFigures& figures) {
  std::string out;
  const std::uint64_t operations = tally.operations();
  const auto count = static_cast<double>(operations);
  append(out, "[OVERALL], RunTime(ms), %" PRIu64 "\n", figures.run_time_ms);
  append(out, "[OVERALL], Throughput(ops/sec), %.3f\n",
         figures.run_time_ms > 0 ? count * 1000 / static_cast<double>(figures.run_time_ms) : 0.0);
  append(out, "[CLIENT], CPU(ns/op), %.1f\n",
         operations > 0 ? static_cast<double>(figures.client_cpu_ns) / count : 0.0);
  std::uint64_t verified = 0;
  std::uint64_t wrong = 0;
  std::uint64_t missing = 0;
  for (std::size_t i = 0; i < kOperationKinds; ++i) {
    const auto kind = static_cast<OperationKind>(i);
    const KindTally& kind_tally = tally.of(kind);
    if (kind_tally.latency.count() > 0) {
      append_kind(out, std::string(report_name(kind)).c_str(), kind_tally);
    }
    if (kind == OperationKind::read || kind == OperationKind::scan) {
      verified += kind_tally.ok;
      wrong += kind_tally.wrong;
      missing += kind_tally.not_found;
    }
  }
  append(out, "[VERIFY], Operations, %" PRIu64 "\n", verified + wrong + missing);
  append(out, "[VERIFY], Return=OK, %" PRIu64 "\n", verified);
  append(out, "[VERIFY], Return=UNEXPECTED_STATE, %" PRIu64 "\n", wrong);
  append(out, "[VERIFY], Return=ERROR, %" PRIu64 "\n", missing);
  return out;
}

}  // namespace mxkv::bench
