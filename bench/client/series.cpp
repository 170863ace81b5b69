#include "bench/client/series.hpp"

#include <algorithm>
#include <utility>

namespace mxkv::bench {
namespace {

constexpr std::uint64_t kWholeNs = 1'000'000'000;

}  // namespace

void Second::merge(const Second& other) {
  length_ns = std::max(length_ns, other.length_ns);
  operations += other.operations;
  failures += other.failures;
  for (std::size_t i = 0; i < latency.size(); ++i) {
    latency[i].merge(other.latency[i]);
  }
}

SparseHistogram Second::all() const {
  SparseHistogram sum;
  for (const SparseHistogram& kind : latency) {
    sum.merge(kind);
  }
  return sum;
}

void add_second(Series& series, std::size_t number, const Second& second) {
  if (series.size() <= number) {
    Second whole;
    whole.length_ns = kWholeNs;
    series.resize(number, whole);
    series.emplace_back();
  }
  series[number].merge(second);
}

void SharedSeries::add(std::size_t number, const Second& second) {
  const std::lock_guard lock(mutex_);
  add_second(series_, number, second);
}

void SharedSeries::note(const Second& second) {
  const std::lock_guard lock(mutex_);
  recent_.merge(second);
}

Second SharedSeries::take_recent() {
  const std::lock_guard lock(mutex_);
  return std::exchange(recent_, {});
}

Series SharedSeries::all() const {
  const std::lock_guard lock(mutex_);
  return series_;
}

}  // namespace mxkv::bench
