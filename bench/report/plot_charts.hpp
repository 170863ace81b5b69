// Which charts a page of results has: from results to lines and bars.
#pragma once

#include <optional>
#include <vector>

#include "bench/report/chart.hpp"
#include "bench/report/plot_page.hpp"

namespace mxkv::bench {

/// Latency by percentile of one kind; nothing if no result has it. Paced results: from the due time, and
/// dashed from the sending.
std::optional<LineChart> percentile_chart(const std::vector<NamedResult>& results, OperationKind kind);
LineChart throughput_chart(const std::vector<NamedResult>& results);
/// The 99th percentile of all operations, second by second.
LineChart latency_over_time_chart(const std::vector<NamedResult>& results);
BarChart throughput_bars(const std::vector<NamedResult>& results);
/// p50, p99 and p99.9 of every kind.
BarChart latency_bars(const std::vector<NamedResult>& results);
/// CPU time an operation, of server and client.
BarChart cpu_bars(const std::vector<NamedResult>& results);

}  // namespace mxkv::bench
