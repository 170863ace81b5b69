#include "bench/workload/key_ranges.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "bench/workload/keys.hpp"
#include "bench/workload/uniform.hpp"

namespace mxkv::bench {
namespace {

// The order of the ranges is the same in every run and thread, whatever the seed of the requests.
constexpr std::uint64_t kShuffleSeed = 20;

}  // namespace

double KeyRangeSpec::weight(std::uint32_t number) const noexcept {
  const double found = a * std::exp(b * number) + c * std::exp(d * number);
  return std::isfinite(found) ? std::max(found, 0.0) : 0;
}

double KeyRangeSpec::sum() const noexcept {
  double sum = 0;
  for (std::uint32_t number = 1; number <= ranges; ++number) {
    sum += weight(number);
  }
  return sum;
}

KeyRangeChooser::KeyRangeChooser(std::uint64_t first, std::uint64_t count, const KeyRangeSpec& spec)
    : first_(first), count_(count), key_a_(spec.key_a), key_b_(spec.key_b) {
  for (std::uint32_t number = 1; number <= spec.ranges; ++number) {
    ends_.push_back(spec.weight(number) / spec.sum());
  }
  runtime::Random random(kShuffleSeed);
  for (std::size_t left = ends_.size(); left > 1; --left) {
    std::swap(ends_[left - 1], ends_[next_below(random, left)]);
  }
  std::partial_sum(ends_.begin(), ends_.end(), ends_.begin());
}

std::uint64_t KeyRangeChooser::begin_of(std::size_t position) const noexcept {
  // Ranges differ by one record at most; the product of a count below 2^40 and a position fits.
  return first_ + count_ * position / ends_.size();
}

double KeyRangeChooser::part(std::size_t position) const noexcept {
  return ends_[position] - (position == 0 ? 0 : ends_[position - 1]);
}

std::uint64_t KeyRangeChooser::next(runtime::Random& random) const noexcept {
  // Rounding may leave the last sum below 1.
  const auto found = std::upper_bound(ends_.begin(), ends_.end() - 1, next_unit(random) * ends_.back());
  const auto position = static_cast<std::size_t>(found - ends_.begin());
  const std::uint64_t begin = begin_of(position);
  const std::uint64_t size = begin_of(position + 1) - begin;
  if (key_a_ == 0 || key_b_ == 0) {
    return begin + next_below(random, size);
  }
  const double rank = std::ceil(std::pow(next_unit(random) / key_a_, 1 / key_b_));
  return begin + fnv_hash64(static_cast<std::uint64_t>(std::clamp(rank, 0.0, 1e18))) % size;
}

}  // namespace mxkv::bench
