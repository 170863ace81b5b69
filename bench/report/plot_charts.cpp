#include "bench/report/plot_charts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "bench/client/units.hpp"

namespace mxkv::bench {
namespace {

constexpr double kShortestSecond = 0.5;  // the rest of a second at the end says little if it is shorter
constexpr double kBarHeadroom = 1.3;     // for the text above a bar

/// The least and greatest of some values.
struct Range {
  double least = std::numeric_limits<double>::max();
  double most = 0;
  void take(double value) noexcept {
    least = std::min(least, value);
    most = std::max(most, value);
  }
  [[nodiscard]] bool empty() const noexcept { return least > most; }
};

bool is_paced(const RunResult& result) noexcept {
  return result.schedule.rate_per_s > 0;
}

const Histogram& main_latency(const KindTally& kind) noexcept {
  return kind.intended.count() != 0 ? kind.intended : kind.latency;
}

/// x: how many nines, so that 99 % is at 2.
Line percentile_line(const Histogram& histogram, Range& latencies) {
  Line line;
  const auto total = static_cast<double>(histogram.count());
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < Histogram::kBuckets; ++i) {
    if (histogram.buckets()[i] == 0) {
      continue;
    }
    const double below = static_cast<double>(seen) / total;
    seen += histogram.buckets()[i];
    const double us = static_cast<double>(std::min(Histogram::last_value_of(i), histogram.max())) / kNsPerUs;
    latencies.take(us);
    // All of a bucket's share of the operations took this long; the last one is drawn where it begins.
    line.points.emplace_back(-std::log10(1 - below), latency_position(us));
    if (seen < histogram.count()) {
      line.points.emplace_back(-std::log10(1 - static_cast<double>(seen) / total), latency_position(us));
    }
  }
  return line;
}

Axis percentile_axis(double most) {
  Axis axis{"percentile of the operations (%)", 0, std::max(1.0, most), {{0, "0"}}};
  static constexpr std::array kNames{"90",     "99",      "99.9",     "99.99",
                                     "99.999", "99.9999", "99.99999", "99.999999"};
  axis.ticks.push_back({-std::log10(0.5), "50"});
  for (std::size_t i = 0; i < kNames.size() && static_cast<double>(i + 1) <= axis.most; ++i) {
    axis.ticks.push_back({static_cast<double>(i + 1), kNames.at(i)});
  }
  return axis;
}

Axis time_axis(const std::vector<NamedResult>& results) {
  std::size_t seconds = 1;
  for (const NamedResult& named : results) {
    seconds = std::max(seconds, named.result.series.size());
  }
  Axis axis = linear_axis("seconds since the measuring began", static_cast<double>(seconds));
  axis.most = static_cast<double>(seconds);
  std::erase_if(axis.ticks, [&axis](const Tick& tick) { return tick.at > axis.most; });
  return axis;
}

/// Calls `point` with (middle of the second, its length in seconds, the second) where there is enough of it.
template <class Point>
void each_second(const RunResult& result, const Point& point) {
  for (std::size_t i = 0; i < result.series.size(); ++i) {
    const double length_s = static_cast<double>(result.series[i].length_ns) / kNsPerS;
    if (length_s >= kShortestSecond || result.series.size() == 1) {
      point(static_cast<double>(i) + length_s / 2, length_s, result.series[i]);
    }
  }
}

std::vector<std::string> names_of(const std::vector<NamedResult>& results) {
  std::vector<std::string> names;
  for (const NamedResult& named : results) {
    names.push_back(named.name);
  }
  return names;
}

/// A group of one bar a result; `value` gives 0 where there is none.
template <class Value, class Text>
BarChart::Group group_of(const std::string& name, const std::vector<NamedResult>& results, const Value& value,
                         const Text& text) {
  BarChart::Group group{name, {}};
  for (const NamedResult& named : results) {
    const double height = value(named.result);
    group.bars.push_back({height, height > 0 ? text(height) : std::string()});
  }
  return group;
}

double highest(const BarChart& chart) noexcept {
  double most = 0;
  for (const BarChart::Group& group : chart.groups) {
    for (const Bar& bar : group.bars) {
      most = std::max(most, bar.height);
    }
  }
  return most;
}

}  // namespace

std::optional<LineChart> percentile_chart(const std::vector<NamedResult>& results, OperationKind kind) {
  LineChart chart;
  Range latencies;
  double nines = 1;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const KindTally& tally = results[i].result.tally.of(kind);
    if (tally.latency.count() == 0) {
      continue;
    }
    const bool paced = tally.intended.count() != 0;
    Line line = percentile_line(main_latency(tally), latencies);
    line.name = results[i].name + (paced ? ", from the due time" : "");
    line.color = i;
    chart.lines.push_back(std::move(line));
    if (paced) {
      Line service = percentile_line(tally.latency, latencies);
      service.name = results[i].name + ", from the sending";
      service.color = i;
      service.dashed = true;
      chart.lines.push_back(std::move(service));
    }
    nines = std::max(nines, std::log10(static_cast<double>(tally.latency.count())));
  }
  if (chart.lines.empty()) {
    return std::nullopt;
  }
  chart.title = fmt::format("{}: latency by percentile", report_name(kind));
  chart.x = percentile_axis(nines);
  chart.y = latency_axis("latency (log scale)", latencies.least, latencies.most);
  return chart;
}

LineChart throughput_chart(const std::vector<NamedResult>& results) {
  LineChart chart{"Throughput over time", time_axis(results), {}, {}};
  double most = 0;
  for (std::size_t i = 0; i < results.size(); ++i) {
    Line line{results[i].name, i, false, {}};
    each_second(results[i].result, [&](double at, double length_s, const Second& second) {
      const double rate = static_cast<double>(second.operations) / length_s;
      most = std::max(most, rate);
      line.points.emplace_back(at, rate);
    });
    chart.lines.push_back(std::move(line));
  }
  chart.y = linear_axis("operations a second", most);
  return chart;
}

LineChart latency_over_time_chart(const std::vector<NamedResult>& results) {
  LineChart chart{"99th percentile of all operations over time", time_axis(results), {}, {}};
  Range latencies;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const char* const suffix = is_paced(results[i].result) ? ", from the due time" : "";
    Line line{results[i].name + suffix, i, false, {}};
    each_second(results[i].result, [&](double at, double, const Second& second) {
      if (second.operations != 0) {
        const double us = static_cast<double>(second.all().percentile(99)) / kNsPerUs;
        latencies.take(us);
        line.points.emplace_back(at, latency_position(us));
      }
    });
    chart.lines.push_back(std::move(line));
  }
  chart.y = latencies.empty() ? latency_axis("latency (log scale)", 1, 10)
                              : latency_axis("latency (log scale)", latencies.least, latencies.most);
  return chart;
}

BarChart throughput_bars(const std::vector<NamedResult>& results) {
  BarChart chart{"Throughput", {}, names_of(results), {}};
  chart.groups.push_back(group_of(
      "whole run", results, [](const RunResult& result) { return result.throughput(); }, short_number));
  chart.y = linear_axis("operations a second", highest(chart) * kBarHeadroom);
  return chart;
}

BarChart latency_bars(const std::vector<NamedResult>& results) {
  static constexpr std::array<std::pair<const char*, double>, 3> kShown{
      {{"p50", 50}, {"p99", 99}, {"p99.9", 99.9}}};
  BarChart chart{"Latency (of paced runs from the due time)", {}, names_of(results), {}};
  Range latencies;
  for (std::size_t kind = 0; kind < kOperationKinds; ++kind) {
    for (const std::pair<const char*, double>& shown : kShown) {
      const auto value = [&latencies, kind, percent = shown.second](const RunResult& result) {
        const double us =
            static_cast<double>(main_latency(result.tally.kinds[kind]).percentile(percent)) / kNsPerUs;
        if (us > 0) {
          latencies.take(us);
        }
        return us;
      };
      const std::string_view operation = kind == static_cast<std::size_t>(OperationKind::read_modify_write)
                                             ? "RMW"
                                             : report_name(static_cast<OperationKind>(kind));
      BarChart::Group group =
          group_of(fmt::format("{} {}", operation, shown.first), results, value, short_latency);
      const bool any =
          std::any_of(group.bars.begin(), group.bars.end(), [](const Bar& bar) { return bar.height > 0; });
      for (Bar& bar : group.bars) {
        bar.height = latency_position(bar.height);
      }
      if (any) {
        chart.groups.push_back(std::move(group));
      }
    }
  }
  // Bars begin below the least of them, and leave room for their text.
  chart.y = latencies.empty() ? latency_axis("latency (log scale)", 1, 10)
                              : latency_axis("latency (log scale)", latencies.least / 2, latencies.most * 4);
  return chart;
}

BarChart cpu_bars(const std::vector<NamedResult>& results) {
  const auto text = [](double us) { return short_latency(us); };
  BarChart chart{"CPU time an operation", {}, names_of(results), {}};
  chart.groups.push_back(group_of(
      "server", results,
      [](const RunResult& result) { return result.server_cpu_ns_per_operation() / kNsPerUs; }, text));
  chart.groups.push_back(group_of(
      "client", results,
      [](const RunResult& result) {
        const std::uint64_t operations = result.tally.operations();
        return operations != 0 ? static_cast<double>(result.figures.client_cpu_ns) /
                                     static_cast<double>(operations) / kNsPerUs
                               : 0;
      },
      text));
  chart.y = linear_axis("CPU time in microseconds", highest(chart) * kBarHeadroom);
  return chart;
}

}  // namespace mxkv::bench
