// Uniform random numbers as YCSB draws them, so that its formulas give the same results from the same 64
// bits.
#pragma once

#include <cstdint>

#include "runtime/base/assert.hpp"
#include "runtime/base/random.hpp"

namespace mxkv::bench {

/// A number in [0, 1) with 53 random bits.
inline double next_unit(runtime::Random& random) noexcept {
  return static_cast<double>(random() >> 11) * 0x1.0p-53;
}

/// A number in [0, bound), bound > 0: the absolute value of a signed random number, modulo the bound.
inline std::uint64_t next_below(runtime::Random& random, std::uint64_t bound) noexcept {
  MXKV_ASSERT(bound > 0, "there is something to choose from");
  const std::uint64_t bits = random();
  return ((bits >> 63) != 0 ? ~bits + 1 : bits) % bound;
}

}  // namespace mxkv::bench
