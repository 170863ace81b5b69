// HdrHistogram's percentile output (.hgrm), which its plotting tools read.
#pragma once

#include <string>

#include "bench/client/histogram.hpp"

namespace mxkv::bench {

/// The text of a file; values in microseconds, five steps for each halving of the distance to 100 %.
std::string hgrm_text(const Histogram& histogram);

}  // namespace mxkv::bench
