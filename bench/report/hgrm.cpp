#include "bench/report/hgrm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "bench/client/units.hpp"

namespace mxkv::bench {
namespace {

constexpr double kStepsPerHalf = 5;

double middle_of(std::size_t bucket) noexcept {
  const double last = static_cast<double>(Histogram::last_value_of(bucket));
  const double first = bucket == 0 ? 0 : static_cast<double>(Histogram::last_value_of(bucket - 1)) + 1;
  return (first + last) / 2;
}

double deviation_of(const Histogram& histogram) noexcept {
  double squares = 0;
  for (std::size_t i = 0; i < Histogram::kBuckets; ++i) {
    const double off = middle_of(i) - histogram.mean();
    squares += static_cast<double>(histogram.buckets()[i]) * off * off;
  }
  return histogram.count() != 0 ? std::sqrt(squares / static_cast<double>(histogram.count())) : 0;
}

/// The next percentile worth a line: steps get smaller the nearer it is to 100.
double step_from(double percent) noexcept {
  const double halves = std::floor(std::log2(100 / (100 - percent))) + 1;
  return percent + 100 / (kStepsPerHalf * std::exp2(halves));
}

}  // namespace

std::string hgrm_text(const Histogram& histogram) {
  std::string out =
      fmt::format("{:>12} {:>14} {:>10} {:>14}\n\n", "Value", "Percentile", "TotalCount", "1/(1-Percentile)");
  const auto total = static_cast<double>(histogram.count());
  std::uint64_t seen = 0;
  double wanted = 0;
  for (std::size_t i = 0; i < Histogram::kBuckets && seen < histogram.count(); ++i) {
    const std::uint64_t here = histogram.buckets()[i];
    seen += here;
    const double value =
        static_cast<double>(std::min(Histogram::last_value_of(i), histogram.max())) / kNsPerUs;
    const double reached = 100 * static_cast<double>(seen) / total;
    while (here != 0 && wanted <= reached) {
      fmt::format_to(std::back_inserter(out), "{:12.3f} {:2.12f} {:10} {:14.2f}\n", value, wanted / 100, seen,
                     1 / (1 - wanted / 100));
      wanted = step_from(wanted);
      if (seen == histogram.count()) {
        break;  // of the last bucket there is one line, and the last line below
      }
    }
  }
  if (histogram.count() != 0) {
    fmt::format_to(std::back_inserter(out), "{:12.3f} {:2.12f} {:10}\n",
                   static_cast<double>(histogram.max()) / kNsPerUs, 1.0, histogram.count());
  }
  fmt::format_to(std::back_inserter(out), "#[Mean    = {:12.3f}, StdDeviation   = {:12.3f}]\n",
                 histogram.mean() / kNsPerUs, deviation_of(histogram) / kNsPerUs);
  fmt::format_to(std::back_inserter(out), "#[Max     = {:12.3f}, Total count    = {:12}]\n",
                 static_cast<double>(histogram.max()) / kNsPerUs, histogram.count());
  fmt::format_to(std::back_inserter(out), "#[Buckets = {:12}, SubBuckets     = {:12}]\n",
                 Histogram::kMaxBits - Histogram::kPrecisionBits, 1U << Histogram::kPrecisionBits);
  return out;
}

}  // namespace mxkv::bench
