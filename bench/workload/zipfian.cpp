#include "bench/workload/zipfian.hpp"

#include <cmath>

#include "bench/workload/keys.hpp"

namespace mxkv::bench {

Zipfian::Zipfian(std::uint64_t items) noexcept : Zipfian(items, zeta(0, items)) {}

Zipfian::Zipfian(std::uint64_t items, double zeta_of_items) noexcept
    : items_(items), zeta_items_(items), zeta_(zeta_of_items), zeta2_(zeta(0, 2)), eta_(eta()) {}

double Zipfian::zeta(std::uint64_t from, std::uint64_t to) noexcept {
  double sum = 0;
  for (std::uint64_t i = from; i < to; ++i) {
    sum += 1 / std::pow(static_cast<double>(i + 1), kTheta);
  }
  return sum;
}

double Zipfian::eta() const noexcept {
  return (1 - std::pow(2.0 / static_cast<double>(items_), 1 - kTheta)) / (1 - zeta2_ / zeta_);
}

std::uint64_t Zipfian::next(runtime::Random& random, std::uint64_t items) noexcept {
  static const double kAlpha = 1 / (1 - kTheta);
  static const double kSecondBound = 1.0 + std::pow(0.5, kTheta);
  if (items > zeta_items_) {
    zeta_ += zeta(zeta_items_, items);
    zeta_items_ = items;
    eta_ = eta();
  }
  const double unit = next_unit(random);
  const double mass = unit * zeta_;
  if (mass < 1.0) {
    return 0;
  }
  if (mass < kSecondBound) {
    return 1;
  }
  return static_cast<std::uint64_t>(static_cast<double>(items) * std::pow(eta_ * unit - eta_ + 1, kAlpha));
}

// YCSB builds the inner generator over the closed range 0..10^10: one item more than its zeta counts.
ScrambledZipfian::ScrambledZipfian(std::uint64_t first, std::uint64_t items) noexcept
    : zipfian_(kItemCount + 1, kZeta), first_(first), items_(items) {}

std::uint64_t ScrambledZipfian::next(runtime::Random& random) noexcept {
  return first_ + fnv_hash64(zipfian_.next(random)) % items_;
}

}  // namespace mxkv::bench
