#include "bench/figures/page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <utility>

#include <nlohmann/json.hpp>

#include "bench/report/chart.hpp"
#include "bench/report/plot_page.hpp"

namespace mxkv::bench {
namespace {

using nlohmann::ordered_json;

struct Point {
  std::string figure;
  std::string series;
  std::string x;  ///< as text, which is how paper.json names it
  std::optional<double> x_number;
  double y = 0;
  std::string unit;
  ordered_json line;
};

Point point_from(const std::string& text, std::size_t number) {
  try {
    ordered_json line = ordered_json::parse(text);
    Point point{line.at("figure"), line.at("series"), {}, {}, line.at("y"), line.at("unit"), {}};
    if (line.at("x").is_number()) {
      point.x_number = line.at("x").get<double>();
      point.x = fmt::format("{:g}", *point.x_number);
    } else {
      point.x = line.at("x");
    }
    if (!line.at("parameters").is_object() || !line.at("machine").is_object() ||
        !line.at("commit").is_string()) {
      throw std::runtime_error("parameters, machine or commit is not what it has to be");
    }
    point.line = std::move(line);
    return point;
  } catch (const std::exception& error) {
    throw std::runtime_error(fmt::format("point {}: {}", number, error.what()));
  }
}

void add_once(std::vector<std::string>& names, const std::string& name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    names.push_back(name);
  }
}

std::string number_text(double value) {
  return std::abs(value) >= 1000 ? short_number(value) : fmt::format("{:.3g}", value);
}

using Points = std::vector<Point>;

/// Kinds of things side by side. The series of the name `line` is drawn as a line across each group.
BarChart bar_chart(const Points& points, const std::string& title, const std::string& line) {
  BarChart chart;
  chart.title = title;
  std::vector<std::string> groups;
  double most = 0;
  for (const Point& point : points) {
    if (point.series == line) {
      chart.line = line;
    } else {
      add_once(chart.names, point.series);
    }
    add_once(groups, point.x);
    most = std::max(most, point.y);
  }
  chart.y = linear_axis(points.front().unit, most * 1.2);
  for (const std::string& name : groups) {
    BarChart::Group group{name, std::vector<Bar>(chart.names.size(), Bar{0, ""}), {}};
    for (const Point& point : points) {
      if (point.x == name && point.series == line) {
        group.line = Bar{point.y, number_text(point.y)};
      } else if (point.x == name) {
        const auto at = std::find(chart.names.begin(), chart.names.end(), point.series) - chart.names.begin();
        group.bars[static_cast<std::size_t>(at)] = {point.y, number_text(point.y)};
      }
    }
    chart.groups.push_back(std::move(group));
  }
  return chart;
}

/// Over a number; by its logarithm where it spans more than a few doublings.
LineChart line_chart(const Points& points, const std::string& title, const std::string& label) {
  LineChart chart;
  chart.title = title;
  std::vector<double> xs;
  double most = 0;
  for (const Point& point : points) {
    xs.push_back(*point.x_number);
    most = std::max(most, point.y);
  }
  std::sort(xs.begin(), xs.end());
  xs.erase(std::unique(xs.begin(), xs.end()), xs.end());
  const bool logarithmic = xs.front() > 0 && xs.back() > 16 * xs.front();
  const auto position = [logarithmic](double x) { return logarithmic ? std::log2(x) : x; };
  const double least = position(xs.front());
  chart.x = {label, least, std::max(position(xs.back()), least + 1), {}};
  for (const double x : xs) {
    chart.x.ticks.push_back({position(x), number_text(x)});
  }
  chart.y = linear_axis(points.front().unit, most);
  std::vector<std::string> names;
  for (const Point& point : points) {
    add_once(names, point.series);
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    Line line{names[i], i, false, {}};
    for (const Point& point : points) {
      if (point.series == names[i]) {
        line.points.emplace_back(position(*point.x_number), point.y);
      }
    }
    chart.lines.push_back(std::move(line));
  }
  return chart;
}

/// The y of the point that paper.json names as [series, x], in the unit that it asks for, if it does.
std::optional<double> value_of(const Points& points, const ordered_json& name, const std::string& unit) {
  for (const Point& point : points) {
    if ((unit.empty() || point.unit == unit) && point.series == name.at(0).get<std::string>() &&
        point.x == name.at(1).get<std::string>()) {
      return point.y;
    }
  }
  return std::nullopt;
}

/// What we measured for a fact of a paper: {"point": P}, {"ratio": [P, P]} or {"difference": [P, P]}, and
/// perhaps the "unit" of the points, where a figure has several.
std::string measured(const Points& points, const ordered_json& ours) {
  const std::string unit = ours.value("unit", std::string());
  if (ours.contains("point")) {
    const auto value = value_of(points, ours["point"], unit);
    return value ? number_text(*value) : "not measured";
  }
  const bool ratio = ours.contains("ratio");
  const ordered_json& pair = ratio ? ours["ratio"] : ours.at("difference");
  const auto first = value_of(points, pair.at(0), unit);
  const auto second = value_of(points, pair.at(1), unit);
  if (!first || !second || (ratio && *second == 0)) {
    return "not measured";
  }
  return number_text(ratio ? *first / *second : *first - *second);
}

void add_facts(std::string& out, const ordered_json& figure, const Points& points,
               const std::string& reference) {
  out += fmt::format("<table><tr><th>what</th><th>{}</th><th>here</th></tr>\n", escaped(reference));
  for (const ordered_json& fact : figure.at("facts")) {
    const std::string here = fact.contains("ours") ? measured(points, fact["ours"])
                                                   : fact.value("instead", std::string("not measured"));
    out += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td></tr>\n",
                       escaped(fact.at("what").get<std::string>()),
                       escaped(fact.at("paper").get<std::string>()), escaped(here));
  }
  out += "</table>\n";
}

void add_points(std::string& out, const Points& points) {
  out +=
      "<details><summary>All "
      "points</summary>\n<table><tr><th>series</th><th>x</th><th>y</th><th>unit</th></tr>\n";
  for (const Point& point : points) {
    out += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n", escaped(point.series),
                       escaped(point.x), number_text(point.y), escaped(point.unit));
  }
  out += "</table>\n<dl>";
  std::vector<std::string> told;
  for (const Point& point : points) {
    add_once(told, point.line.at("parameters").dump());
  }
  for (const std::string& parameters : told) {
    out += fmt::format("<dt>parameters</dt><dd><code>{}</code></dd>", escaped(parameters));
  }
  out += "</dl></details>\n";
}

void add_figure_section(std::string& out, const ordered_json& figure, const Points& points,
                        const std::string& reference) {
  const std::string title = figure.at("title");
  out += fmt::format("<h2>{}</h2>\n<p>{}: {}</p>\n", escaped(title),
                     escaped(figure.at("source").get<std::string>()),
                     escaped(figure.at("setting").get<std::string>()));
  if (points.empty()) {
    out += "<p class=\"warning\">Not measured in this run.</p>\n";
  }
  std::vector<std::string> units;
  for (const Point& point : points) {
    add_once(units, point.unit);
  }
  out += "<div class=\"charts\">\n";
  for (const std::string& unit : units) {
    Points drawn;
    std::copy_if(points.begin(), points.end(), std::back_inserter(drawn),
                 [&unit](const Point& point) { return point.unit == unit; });
    const bool numbers = std::all_of(drawn.begin(), drawn.end(),
                                     [](const Point& point) { return point.x_number.has_value(); });
    out += "<figure>\n" +
           (numbers ? draw(line_chart(drawn, title, figure.value("x_label", std::string())))
                    : draw(bar_chart(drawn, title, figure.value("line", std::string())))) +
           "</figure>\n";
  }
  out += "</div>\n";
  if (!figure.at("facts").empty()) {
    add_facts(out, figure, points, reference);
  }
  if (!points.empty()) {
    add_points(out, points);
  }
}

/// A list of figures is that of the papers.
ordered_json described_page(const std::string& text) {
  ordered_json page = ordered_json::parse(text);
  if (page.is_array()) {
    page = {{"title", "mxkv: the papers' figures"},
            {"heading", "The papers' figures, repeated"},
            {"reference", "the paper"},
            {"figures", std::move(page)}};
  }
  return page;
}

}  // namespace

std::string figures_page(const std::string& papers, const std::vector<std::string>& lines) {
  Points points;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    points.push_back(point_from(lines[i], i + 1));
  }
  const ordered_json description = described_page(papers);
  std::string out = page_start(description.at("title"), description.at("heading"));
  if (!points.empty()) {
    const ordered_json& machine = points.front().line.at("machine");
    out += fmt::format("<p>{}, {} CPUs, {}; sources {}.</p>\n", escaped(machine.value("cpu", std::string())),
                       machine.value("cpus", 0), escaped(machine.value("kernel", std::string())),
                       escaped(points.front().line.at("commit").get<std::string>()));
  }
  std::vector<std::string> described;
  for (const ordered_json& figure : description.at("figures")) {
    const std::string name = figure.at("figure");
    described.push_back(name);
    Points own;
    std::copy_if(points.begin(), points.end(), std::back_inserter(own),
                 [&name](const Point& point) { return point.figure == name; });
    add_figure_section(out, figure, own, description.at("reference"));
  }
  for (const Point& point : points) {
    if (std::find(described.begin(), described.end(), point.figure) == described.end()) {
      throw std::runtime_error("the description of the page does not know the figure " + point.figure);
    }
  }
  return out + "</body></html>\n";
}

}  // namespace mxkv::bench
