// YCSB's zipfian request distributions over record numbers, with its constants, so that figures compare.
//
// Zipfian: Gray et al., "Quickly Generating Billion-Record Synthetic Databases" (SIGMOD 94), theta 0.99.
// Scrambled: a zipfian over 10^10 items with the precomputed zeta, whose results are hashed over the records,
// so that the popular ones lie apart. Latest: the zipfian counted back from the newest record. No locks: each
// client thread owns its generators and its random numbers.
#pragma once

#include <cstdint>

#include "bench/workload/uniform.hpp"
#include "runtime/base/random.hpp"

namespace mxkv::bench {

/// Thread-safety: owner only.
class Zipfian {
 public:
  static constexpr double kTheta = 0.99;

  /// Over [0, items); computing zeta takes about 20 ns an item. items > 0.
  explicit Zipfian(std::uint64_t items) noexcept;
  /// The same with a zeta that is already computed.
  Zipfian(std::uint64_t items, double zeta_of_items) noexcept;

  std::uint64_t next(runtime::Random& random) noexcept { return next(random, items_); }
  /// Over [0, items), where `items` may have grown since. As in YCSB, zeta is extended by the new terms, and
  /// eta keeps the first number of items.
  std::uint64_t next(runtime::Random& random, std::uint64_t items) noexcept;

  /// The sum of 1 / i^theta over i in (from, to].
  static double zeta(std::uint64_t from, std::uint64_t to) noexcept;

 private:
  [[nodiscard]] double eta() const noexcept;

  std::uint64_t items_;
  std::uint64_t zeta_items_;
  double zeta_;
  double zeta2_;
  double eta_;
};

/// Zipfian popularity, spread over [first, first + items) by a hash. Thread-safety: owner only.
class ScrambledZipfian {
 public:
  static constexpr std::uint64_t kItemCount = 10'000'000'000;
  static constexpr double kZeta = 26.46902820178302;

  ScrambledZipfian(std::uint64_t first, std::uint64_t items) noexcept;
  std::uint64_t next(runtime::Random& random) noexcept;

 private:
  Zipfian zipfian_;
  std::uint64_t first_;
  std::uint64_t items_;
};

}  // namespace mxkv::bench
