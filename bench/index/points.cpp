#include "bench/index/points.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "bench/report/chart.hpp"
#include "bench/report/plot_page.hpp"

namespace mxkv::bench {
namespace {

using Points = std::vector<const IndexPoint*>;

IndexPoint point_of(const nlohmann::json& line) {
  IndexPoint point{line.at("records"),   line.at("what"),      line.at("by"),     line.at("workers"),
                   line.at("container"), line.at("in_flight"), line.at("median"), line.at("least"),
                   line.at("most"),      line.at("unit")};
  if (point.in_flight == 0 || point.workers == 0 || !(point.median >= 0)) {
    throw std::runtime_error("a number is out of range");
  }
  return point;
}

template <class Wanted>
Points points_where(const IndexResults& results, const Wanted& wanted) {
  Points found;
  for (const IndexPoint& point : results.points) {
    if (wanted(point)) {
      found.push_back(&point);
    }
  }
  return found;
}

template <class NameOf>
std::vector<std::string> names_in(const Points& points, const NameOf& name_of) {
  std::vector<std::string> names;
  for (const IndexPoint* point : points) {
    if (const std::string name = name_of(*point);
        std::find(names.begin(), names.end(), name) == names.end()) {
      names.push_back(name);
    }
  }
  return names;
}

std::string text_of(double value) {
  return fmt::format("{:.3g}", value);
}

bool is_ceiling(const IndexPoint& point) {
  return point.container == "static tree by hand" || point.container == "random lines";
}

/// Throughput over operations in flight; a line for each name, dashed where it is a ceiling.
template <class NameOf>
std::string flights_chart(const Points& points, const std::string& title, const NameOf& name_of) {
  LineChart chart;
  chart.title = title;
  std::map<unsigned, Tick> ticks;
  double most = 0;
  for (const IndexPoint* point : points) {
    ticks[point->in_flight] = {std::log2(point->in_flight), std::to_string(point->in_flight)};
    most = std::max(most, point->median);
  }
  chart.x.label = "operations in flight a worker";
  for (const auto& [in_flight, tick] : ticks) {
    chart.x.ticks.push_back(tick);
  }
  chart.x.least = chart.x.ticks.front().at;
  chart.x.most = std::max(chart.x.ticks.back().at, chart.x.least + 1);
  chart.y = linear_axis("million operations/s", most);
  for (const std::string& name : names_in(points, name_of)) {
    Line line{name, chart.lines.size(), false, {}};
    for (const IndexPoint* point : points) {
      if (name_of(*point) == name) {
        line.dashed = is_ceiling(*point);
        line.points.emplace_back(std::log2(point->in_flight), point->median);
      }
    }
    if (line.points.size() == 1) {  // one operation at a time: a level to compare with
      line.points = {{chart.x.least, line.points.front().second}, {chart.x.most, line.points.front().second}};
    }
    chart.lines.push_back(std::move(line));
  }
  return "<figure>\n" + draw(chart) + "</figure>\n";
}

/// Groups are workloads; bars the containers, each with its best number in flight, and the one with most.
std::string workload_bars(const Points& points, const std::string& title, const std::string& axis) {
  const auto group_of = [](const IndexPoint& point) { return point.what + ", " + point.by; };
  unsigned deepest = 1;
  double most = 0;
  for (const IndexPoint* point : points) {
    deepest = std::max(deepest, point->in_flight);
    most = std::max(most, point->median);
  }
  BarChart chart;
  chart.title = title;
  chart.y = linear_axis(axis, most * 1.1);
  const auto containers = names_in(points, [](const IndexPoint& point) { return point.container; });
  const std::string at_most = fmt::format("mxkv, {} in flight", deepest);
  chart.names = containers;
  chart.names.push_back(at_most);
  for (const std::string& group_name : names_in(points, group_of)) {
    BarChart::Group group{group_name, std::vector<Bar>(chart.names.size(), Bar{0, ""})};
    for (const IndexPoint* point : points) {
      if (group_of(*point) != group_name) {
        continue;
      }
      const auto at = std::find(containers.begin(), containers.end(), point->container) - containers.begin();
      Bar& bar = group.bars[static_cast<std::size_t>(at)];
      if (bar.text.empty() || point->median > bar.height) {
        bar = {point->median, text_of(point->median)};
      }
      if (point->container == "mxkv" && point->in_flight == deepest) {
        group.bars.back() = {point->median, text_of(point->median)};
      }
    }
    chart.groups.push_back(std::move(group));
  }
  return "<figure>\n" + draw(chart) + "</figure>\n";
}

void add_memory(std::string& out, const Points& points) {
  if (points.empty()) {
    return;
  }
  out += "<h3>Bytes an entry</h3>\n<table><tr><th>container</th><th>part</th><th>bytes</th></tr>\n";
  std::map<std::string, double> sums;
  for (const IndexPoint* point : points) {
    sums[point->container] += point->median;
    if (point->by != "all") {
      out += fmt::format("<tr><td>{}</td><td>{}</td><td>{:.1f}</td></tr>\n", escaped(point->container),
                         escaped(point->by), point->median);
    }
  }
  for (const auto& [container, sum] : sums) {
    out += fmt::format("<tr><td>{}</td><td>sum</td><td>{:.1f}</td></tr>\n", escaped(container), sum);
  }
  out += "</table>\n";
}

void add_table(std::string& out, const Points& points) {
  out +=
      "<details><summary>All points</summary>\n<table><tr><th>workload</th><th>container</th>"
      "<th>in flight</th><th>median</th><th>least</th><th>most</th></tr>\n";
  for (const IndexPoint* point : points) {
    out += fmt::format("<tr><td>{}, {}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
                       escaped(point->what), escaped(point->by), escaped(point->container), point->in_flight,
                       text_of(point->median), text_of(point->least), text_of(point->most));
  }
  out += "</table></details>\n";
}

void add_session(std::string& out, const IndexResults& results, const std::string& records,
                 unsigned workers) {
  const auto here = [&](const IndexPoint& point) {
    return point.records == records && point.workers == workers;
  };
  const std::string where = fmt::format("{} keys, {} worker{}", records, workers, workers > 1 ? "s" : "");
  out += fmt::format("<h2>{}</h2>\n<div class=\"charts\">\n", escaped(where));
  const auto by_container = [](const IndexPoint& point) { return point.container; };
  for (const std::string by : {"uniform", "zipfian"}) {
    const Points reads = points_where(results, [&](const IndexPoint& point) {
      return here(point) && point.what == "read" && point.by == by && point.container != "random lines";
    });
    if (!reads.empty()) {
      out += flights_chart(reads, fmt::format("Look-ups, {}: {}", by, where), by_container);
    }
  }
  const Points lines = points_where(results, [&](const IndexPoint& point) {
    return here(point) && point.container == "random lines" && point.by == "uniform";
  });
  if (!lines.empty()) {
    out += flights_chart(lines, "Random lines of memory: " + where, by_container);
  }
  const Points others = points_where(results, [&](const IndexPoint& point) {
    return here(point) && point.container == "mxkv" && point.unit != "bytes" && point.what != "read" &&
           point.what != "load";
  });
  if (!others.empty()) {
    out += flights_chart(others, "mxkv by operations in flight: " + where,
                         [](const IndexPoint& point) { return point.what + ", " + point.by; });
  }
  const auto add_bars = [&](const std::string& title, const std::string& axis, const auto& wanted) {
    const Points found = points_where(results, [&](const IndexPoint& point) {
      return here(point) && point.unit != "bytes" && point.container != "random lines" && wanted(point);
    });
    if (!found.empty()) {
      out += workload_bars(found, title + ": " + where, axis);
    }
  };
  const auto scans = [](const IndexPoint& point) { return point.what == "scan of 100"; };
  for (const bool zipfian : {false, true}) {
    add_bars(zipfian ? "Workloads, zipfian" : "Workloads, uniform", "million operations/s",
             [&scans, zipfian](const IndexPoint& point) {
               return !scans(point) && (point.by == "zipfian") == zipfian;
             });
  }
  add_bars("Scans of 100", "million scans/s", scans);
  out += "</div>\n";
  add_memory(out, points_where(results, [&](const IndexPoint& point) {
               return here(point) && point.unit == "bytes";
             }));
  add_table(out, points_where(results,
                              [&](const IndexPoint& point) { return here(point) && point.unit != "bytes"; }));
}

}  // namespace

void read_points(std::istream& lines, IndexResults& results) {
  std::size_t number = 0;
  for (std::string text; std::getline(lines, text);) {
    ++number;
    try {
      const auto line = nlohmann::json::parse(text);
      if (line.contains("machine")) {
        results.about.push_back(text);
      } else {
        results.points.push_back(point_of(line));
      }
    } catch (const std::exception& error) {
      throw std::runtime_error(fmt::format("line {}: {}", number, error.what()));
    }
  }
}

std::string index_page(const IndexResults& results) {
  std::string out =
      page_start("mxkv: the tree beside its peers", "The tree beside its peers and its ceilings");
  out +=
      "<p>Medians of rounds in turn. One worker: by its thread's CPU time; more: by the wall clock. Bars "
      "show "
      "the best number of operations in flight.</p>\n";
  std::vector<std::pair<std::string, unsigned>> sessions;
  for (const IndexPoint& point : results.points) {
    const std::pair session{point.records, point.workers};
    if (std::find(sessions.begin(), sessions.end(), session) == sessions.end()) {
      sessions.push_back(session);
    }
  }
  for (const auto& [records, workers] : sessions) {
    add_session(out, results, records, workers);
  }
  out += "<h2>How it was measured</h2>\n";
  for (const std::string& about : results.about) {
    out += fmt::format("<p><code>{}</code></p>\n", escaped(about));
  }
  return out + "</body></html>\n";
}

}  // namespace mxkv::bench
