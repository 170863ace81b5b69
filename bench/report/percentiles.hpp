// The percentiles that reports give, with their names in text and in files.
#pragma once

#include <array>
#include <string_view>

namespace mxkv::bench {

struct NamedPercentile {
  std::string_view name;   ///< "p99.9": for people and JSON
  std::string_view label;  ///< "99.9": in a line of YCSB's
  double percent;
};

inline constexpr std::array<NamedPercentile, 6> kPercentiles{{{"p50", "50th", 50},
                                                              {"p90", "90th", 90},
                                                              {"p95", "95th", 95},
                                                              {"p99", "99th", 99},
                                                              {"p99.9", "99.9", 99.9},
                                                              {"p99.99", "99.99", 99.99}}};

}  // namespace mxkv::bench
