// Charts as SVG: lines over two axes, and groups of bars. They know nothing of what is drawn.
//
// Positions are given in the units of the axis; a logarithmic axis is one whose positions are logarithms and
// whose ticks say so. Text is escaped; nothing is loaded from elsewhere.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mxkv::bench {

struct Tick {
  double at;
  std::string text;
};

struct Axis {
  std::string label;  ///< with the unit
  double least = 0;
  double most = 1;
  std::vector<Tick> ticks;
};

struct Line {
  std::string name;
  std::size_t color = 0;  ///< lines of one colour belong together
  bool dashed = false;
  std::vector<std::pair<double, double>> points;
};

struct LineChart {
  std::string title;
  Axis x;
  Axis y;
  std::vector<Line> lines;
};

struct Bar {
  double height;     ///< in the units of the axis; below its least: not drawn
  std::string text;  ///< what it stands for, with the unit; empty: there is no such bar
};

struct BarChart {
  std::string title;
  Axis y;
  std::vector<std::string> names;  ///< of the bars of a group, in order
  struct Group {
    std::string name;
    std::vector<Bar> bars;
    std::optional<Bar> line{};  ///< across the group, dashed: what the bars are compared with
  };
  std::vector<Group> groups;
  std::string line{};  ///< name of the groups' lines; empty: there are none
};

/// An <svg> element, 760 units wide.
std::string draw(const LineChart& chart);
std::string draw(const BarChart& chart);

/// An axis from 0 to at least `most`, with four to eight round ticks ("0", "20k", "1.5M").
Axis linear_axis(std::string label, double most);
/// A logarithmic axis of latencies from `least_us` to `most_us`, with ticks at 1, 2 and 5 or at powers of
/// ten.
Axis latency_axis(std::string label, double least_us, double most_us);
/// The position of a latency on such an axis.
double latency_position(double us) noexcept;

/// "12.3k", "850": three digits.
std::string short_number(double value);
/// "850 µs", "1.2 ms".
std::string short_latency(double us);
/// Text for HTML and SVG.
std::string escaped(std::string_view text);

}  // namespace mxkv::bench
