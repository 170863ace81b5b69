#include "bench/report/chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

namespace mxkv::bench {
namespace {

// Okabe and Ito's colours, which people with any colour vision can tell apart.
constexpr std::array<const char*, 8> kColors{"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                             "#e69f00", "#56b4e9", "#333333", "#999933"};
constexpr double kWidth = 760;
constexpr double kLeft = 84;
constexpr double kRight = 20;
constexpr double kTitle = 30;
constexpr double kPlotHeight = 300;
constexpr double kBottom = 58;
constexpr double kLegendRow = 20;
constexpr double kLetter = 7.2;        // width of a letter of the legend
constexpr std::size_t kMostDots = 60;  // more points than this are drawn as a line alone
constexpr double kLeastPixels = 0.6;   // points nearer than this are left out

const char* color_of(std::size_t number) noexcept {
  return kColors[number % kColors.size()];
}

struct LegendEntry {
  std::string name;
  std::size_t color;
  bool dashed;
};

/// A chart being drawn: the frame, and where a position of the axes is.
class Canvas {
 public:
  Canvas(const std::string& title, Axis x, Axis y, const std::vector<LegendEntry>& legend)
      : x_(std::move(x)), y_(std::move(y)) {
    const std::string entries = draw_legend(legend);
    top_ = kTitle + kLegendRow * rows_ + 14;
    const double height = top_ + kPlotHeight + kBottom;
    add("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" "
        "aria-label=\"{}\">\n",
        kWidth, height, escaped(title));
    add("<text class=\"title\" x=\"{:.0f}\" y=\"20\">{}</text>\n", kLeft, escaped(title));
    out_ += entries;
    draw_axes();
  }

  [[nodiscard]] double x(double position) const noexcept {
    return kLeft + (position - x_.least) / (x_.most - x_.least) * (kWidth - kLeft - kRight);
  }
  [[nodiscard]] double y(double position) const noexcept {
    return top_ + kPlotHeight - (position - y_.least) / (y_.most - y_.least) * kPlotHeight;
  }
  [[nodiscard]] double bottom() const noexcept { return top_ + kPlotHeight; }

  template <class... Arguments>
  void add(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Arguments>(arguments)...);
  }
  std::string finish() { return std::move(out_) + "</svg>\n"; }

 private:
  std::string draw_legend(const std::vector<LegendEntry>& legend) {
    std::string text;
    double at = kLeft;
    for (const LegendEntry& entry : legend) {
      const double width = 34 + kLetter * static_cast<double>(entry.name.size()) + 16;
      if (at > kLeft && at + width > kWidth) {
        at = kLeft;
        ++rows_;
      }
      const double row = kTitle + kLegendRow * (rows_ - 0.5);
      fmt::format_to(std::back_inserter(text),
                     "<line x1=\"{0:.1f}\" y1=\"{1:.1f}\" x2=\"{2:.1f}\" y2=\"{1:.1f}\" stroke=\"{3}\" "
                     "stroke-width=\"3\"{4}/><text x=\"{5:.1f}\" y=\"{6:.1f}\">{7}</text>\n",
                     at, row, at + 26, color_of(entry.color), entry.dashed ? " stroke-dasharray=\"6 4\"" : "",
                     at + 32, row + 4.5, escaped(entry.name));
      at += width;
    }
    return text;
  }

  void draw_axes() {
    for (const Tick& tick : y_.ticks) {
      add("<line class=\"grid\" x1=\"{0:.1f}\" y1=\"{1:.1f}\" x2=\"{2:.1f}\" y2=\"{1:.1f}\"/>", kLeft,
          y(tick.at), kWidth - kRight);
      add("<text class=\"tick\" text-anchor=\"end\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", kLeft - 8,
          y(tick.at) + 4, escaped(tick.text));
    }
    for (const Tick& tick : x_.ticks) {
      add("<line class=\"grid\" x1=\"{0:.1f}\" y1=\"{1:.1f}\" x2=\"{0:.1f}\" y2=\"{2:.1f}\"/>", x(tick.at),
          top_, bottom());
      add("<text class=\"tick\" text-anchor=\"middle\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", x(tick.at),
          bottom() + 18, escaped(tick.text));
    }
    add("<rect class=\"frame\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>\n", kLeft, top_,
        kWidth - kLeft - kRight, kPlotHeight);
    add("<text text-anchor=\"middle\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", (kLeft + kWidth - kRight) / 2,
        bottom() + 42, escaped(x_.label));
    const double middle = top_ + kPlotHeight / 2;
    add("<text text-anchor=\"middle\" transform=\"translate(16 {:.1f}) rotate(-90)\">{}</text>\n", middle,
        escaped(y_.label));
  }

  Axis x_;
  Axis y_;
  double top_ = 0;
  int rows_ = 1;
  std::string out_;
};

void draw_line(Canvas& canvas, const Line& line) {
  std::string path;
  double last_x = -1e9;
  double last_y = -1e9;
  for (std::size_t i = 0; i < line.points.size(); ++i) {
    const double x = canvas.x(line.points[i].first);
    const double y = canvas.y(line.points[i].second);
    const bool ends = i == 0 || i + 1 == line.points.size();
    if (!ends && std::abs(x - last_x) < kLeastPixels && std::abs(y - last_y) < kLeastPixels) {
      continue;
    }
    fmt::format_to(std::back_inserter(path), "{}{:.1f},{:.1f}", path.empty() ? "" : " ", x, y);
    last_x = x;
    last_y = y;
    if (line.points.size() <= kMostDots && !line.dashed) {
      canvas.add("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.2\" fill=\"{}\"/>", x, y, color_of(line.color));
    }
  }
  canvas.add("<polyline points=\"{}\" stroke=\"{}\"{}><title>{}</title></polyline>\n", path,
             color_of(line.color), line.dashed ? " stroke-dasharray=\"6 4\"" : "", escaped(line.name));
}

void draw_line_of_group(Canvas& canvas, const BarChart& chart, std::size_t group) {
  const std::optional<Bar>& line = chart.groups[group].line;
  if (!line) {
    return;
  }
  const double y = canvas.y(std::max(line->height, chart.y.least));
  const double left = canvas.x(static_cast<double>(group) + 0.05);
  const double right = canvas.x(static_cast<double>(group) + 0.95);
  canvas.add(
      "<line x1=\"{0:.1f}\" y1=\"{1:.1f}\" x2=\"{2:.1f}\" y2=\"{1:.1f}\" stroke=\"{3}\" stroke-width=\"2\" "
      "stroke-dasharray=\"6 4\"><title>{4}: {5}</title></line>",
      left, y, right, color_of(chart.names.size()), escaped(chart.line), escaped(line->text));
  canvas.add("<text class=\"value\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", left, y - 5, escaped(line->text));
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
    }
  }
  return out;
}

std::string draw(const LineChart& chart) {
  std::vector<LegendEntry> legend;
  for (const Line& line : chart.lines) {
    legend.push_back({line.name, line.color, line.dashed});
  }
  Canvas canvas(chart.title, chart.x, chart.y, legend);
  for (const Line& line : chart.lines) {
    draw_line(canvas, line);
  }
  return canvas.finish();
}

std::string draw(const BarChart& chart) {
  std::vector<LegendEntry> legend;
  for (std::size_t i = 0; i < chart.names.size(); ++i) {
    legend.push_back({chart.names[i], i, false});
  }
  if (!chart.line.empty()) {
    legend.push_back({chart.line, chart.names.size(), true});
  }
  Axis x{"", 0, static_cast<double>(chart.groups.size()), {}};
  Canvas canvas(chart.title, x, chart.y, legend);
  const double group_width = canvas.x(1) - canvas.x(0);
  const double bar_width =
      std::min(0.8 * group_width / static_cast<double>(std::max<std::size_t>(chart.names.size(), 1)), 80.0);
  const bool upright = bar_width < 52;  // then the text does not fit over the bar
  for (std::size_t group = 0; group < chart.groups.size(); ++group) {
    const std::vector<Bar>& bars = chart.groups[group].bars;
    const double middle = canvas.x(static_cast<double>(group) + 0.5);
    canvas.add("<text class=\"tick\" text-anchor=\"middle\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", middle,
               canvas.bottom() + 18, escaped(chart.groups[group].name));
    double at = middle - bar_width * static_cast<double>(bars.size()) / 2;
    for (std::size_t i = 0; i < bars.size(); ++i, at += bar_width) {
      if (bars[i].text.empty()) {
        continue;
      }
      const double top = canvas.y(std::max(bars[i].height, chart.y.least));
      canvas.add(
          "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\"><title>{}: "
          "{}</title>"
          "</rect>",
          at + 1, top, bar_width - 2, canvas.bottom() - top, color_of(i), escaped(chart.names[i]),
          escaped(bars[i].text));
      const double center = at + bar_width / 2;
      if (upright) {
        canvas.add("<text class=\"value\" transform=\"translate({:.1f} {:.1f}) rotate(-90)\">{}</text>\n",
                   center + 4, top - 5, escaped(bars[i].text));
      } else {
        canvas.add("<text class=\"value\" text-anchor=\"middle\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n",
                   center, top - 5, escaped(bars[i].text));
      }
    }
    draw_line_of_group(canvas, chart, group);
  }
  return canvas.finish();
}

}  // namespace mxkv::bench
