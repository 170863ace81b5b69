// The axes of charts and the numbers on them.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "bench/report/chart.hpp"

namespace mxkv::bench {
namespace {

constexpr double kLeastUs = 0.1;  // below it no latency is told from another

std::string three_digits(double value) {
  if (value >= 100 || value == std::floor(value)) {
    return fmt::format("{:.0f}", value);
  }
  return value >= 10 ? fmt::format("{:.1f}", value) : fmt::format("{:.2f}", value);
}

}  // namespace

std::string short_number(double value) {
  if (value >= 1e6) {
    return three_digits(value / 1e6) + "M";
  }
  return value >= 1e3 ? three_digits(value / 1e3) + "k" : three_digits(value);
}

std::string short_latency(double us) {
  if (us >= 1e6) {
    return three_digits(us / 1e6) + " s";
  }
  return us >= 1e3 ? three_digits(us / 1e3) + " ms" : three_digits(us) + " \xC2\xB5s";
}

double latency_position(double us) noexcept {
  return std::log10(std::max(us, kLeastUs));
}

Axis linear_axis(std::string label, double most) {
  const double wanted = std::max(most, 1e-9) / 5;
  const double power = std::pow(10, std::floor(std::log10(wanted)));
  double step = 10 * power;
  for (const double factor : {5.0, 2.5, 2.0, 1.0}) {
    if (factor * power >= wanted) {
      step = factor * power;
    }
  }
  Axis axis{std::move(label), 0, step * std::ceil(std::max(most, 1e-9) / step), {}};
  const auto count = static_cast<int>(std::lround(axis.most / step));
  for (int i = 0; i <= count; ++i) {
    axis.ticks.push_back({step * i, short_number(step * i)});
  }
  return axis;
}

Axis latency_axis(std::string label, double least_us, double most_us) {
  constexpr std::array kSteps{1.0, 2.0, 5.0};
  const double least = std::max(least_us, kLeastUs);
  const double most = std::max(most_us, least);
  std::vector<double> marks;
  for (int power = -1; power < 10; ++power) {
    for (const double step : kSteps) {
      marks.push_back(step * std::pow(10, power));
    }
  }
  const auto above = std::upper_bound(marks.begin() + 1, marks.end() - 1, least);
  auto first = above - 1;
  auto last = std::max(std::lower_bound(marks.begin(), marks.end() - 1, most), above);
  const bool decades_only = last - first > 12;
  Axis axis{std::move(label), latency_position(*first), latency_position(*last), {}};
  for (auto mark = first; mark <= last; ++mark) {
    if (!decades_only || (mark - marks.begin()) % 3 == 0) {
      axis.ticks.push_back({latency_position(*mark), short_latency(*mark)});
    }
  }
  return axis;
}

}  // namespace mxkv::bench
