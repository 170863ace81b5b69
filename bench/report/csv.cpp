#include "bench/report/csv.hpp"

#include <fmt/format.h>

#include <iterator>

#include "bench/client/units.hpp"
#include "bench/report/percentiles.hpp"

namespace mxkv::bench {
namespace {

struct Scope {
  const char* name;
  std::size_t start_s;
  double length_s;
};

template <class AnyHistogram>
void append_line(std::string& out, const Scope& scope, std::string_view operation, std::uint64_t operations,
                 const AnyHistogram& latency) {
  auto to = std::back_inserter(out);
  fmt::format_to(to, "{},{},{:.3f},{},{},{:.1f},{:.3f},{:.3f}", scope.name, scope.start_s, scope.length_s,
                 operation, operations,
                 scope.length_s > 0 ? static_cast<double>(operations) / scope.length_s : 0.0,
                 latency.mean() / kNsPerUs, static_cast<double>(latency.min()) / kNsPerUs);
  for (const NamedPercentile& percentile : kPercentiles) {
    fmt::format_to(to, ",{:.3f}", static_cast<double>(latency.percentile(percentile.percent)) / kNsPerUs);
  }
  fmt::format_to(to, ",{:.3f}\n", static_cast<double>(latency.max()) / kNsPerUs);
}

void append_run(std::string& out, const RunResult& result) {
  const Scope scope{"run", 0, static_cast<double>(result.figures.run_time_ms) / 1000};
  const bool paced = result.schedule.rate_per_s > 0;
  Histogram all;
  for (const KindTally& kind : result.tally.kinds) {
    all.merge(paced ? kind.intended : kind.latency);
  }
  append_line(out, scope, "ALL", result.tally.operations(), all);
  for (std::size_t i = 0; i < kOperationKinds; ++i) {
    const KindTally& kind = result.tally.kinds[i];
    const std::string_view name = report_name(static_cast<OperationKind>(i));
    if (kind.latency.count() != 0) {
      append_line(out, scope, name, kind.latency.count(), kind.latency);
    }
    if (kind.intended.count() != 0) {
      append_line(out, scope, fmt::format("Intended-{}", name), kind.intended.count(), kind.intended);
    }
  }
}

void append_second(std::string& out, std::size_t number, const Second& second) {
  const Scope scope{"second", number, static_cast<double>(second.length_ns) / kNsPerS};
  append_line(out, scope, "ALL", second.operations, second.all());
  for (std::size_t i = 0; i < kOperationKinds; ++i) {
    if (second.latency[i].count() != 0) {
      append_line(out, scope, report_name(static_cast<OperationKind>(i)), second.latency[i].count(),
                  second.latency[i]);
    }
  }
}

}  // namespace

std::string csv_text(const RunResult& result) {
  std::string out = "scope,start_s,length_s,operation,operations,ops_per_s,mean_us,min_us";
  for (const NamedPercentile& percentile : kPercentiles) {
    fmt::format_to(std::back_inserter(out), ",{}_us", percentile.name);
  }
  out += ",max_us\n";
  append_run(out, result);
  for (std::size_t i = 0; i < result.series.size(); ++i) {
    append_second(out, i, result.series[i]);
  }
  return out;
}

}  // namespace mxkv::bench
