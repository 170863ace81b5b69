// The default length of a locked touch's prefix, such that about a hundred keys have the prefix.
//
// Behind "user" and the zeros that every key has, each further digit leaves a tenth of the keys. Hashes are
// spread evenly over their digits: of 1,000,000 records about 100 share four digits, of 300,000 about 300
// share three (the power of ten that is nearest to a hundred by its ratio). Ordered keys count up, so the
// prefix is all but the last two digits of the greatest.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

#include "bench/workload/spec.hpp"

namespace mxkv::bench {

/// In bytes; of a shorter key, the whole key is the prefix. Thread-safety: any thread.
inline std::size_t usual_prefix_bytes(const WorkloadSpec& spec) {
  constexpr double kKeys = 100;
  constexpr std::size_t kHashDigits = 19;
  std::size_t varying = 0;  // digits of the prefix that differ among keys
  std::size_t all = kHashDigits;
  if (spec.ordered) {
    all = std::to_string(spec.insert_start + spec.existing() - 1).size();
    varying = all - std::min<std::size_t>(all, 2);
  } else {
    const double parts = static_cast<double>(spec.existing()) / kKeys;
    varying = parts > 1 ? static_cast<std::size_t>(std::lround(std::log10(parts))) : 0;
  }
  const std::size_t zeros = spec.zero_padding - std::min(spec.zero_padding, all);
  return KeyFormat::kPrefix.size() + zeros + varying;
}

}  // namespace mxkv::bench
