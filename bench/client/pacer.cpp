#include "bench/client/pacer.hpp"

#include <cmath>

#include "bench/client/units.hpp"
#include "bench/workload/trace.hpp"
#include "bench/workload/zipfian.hpp"

namespace mxkv::bench {
namespace {

constexpr std::uint64_t kUsualLagNs = 10'000'000;
constexpr double kFarAwayNs = 1e18;  // 31 years: behind the last request of a trace

}  // namespace

bool ScheduleFigures::fell_behind() const noexcept {
  return rate_per_s > 0 &&
         (static_cast<double>(unsent) * kNsPerS > rate_per_s * static_cast<double>(kUsualLagNs) ||
          max_lag_ns > kLateNs || (last_lag_ns > kUsualLagNs && last_lag_ns > length_ns / 100));
}

void ScheduleFigures::merge(const ScheduleFigures& other) noexcept {
  rate_per_s += other.rate_per_s;
  arrivals = other.rate_per_s > 0 ? other.arrivals : arrivals;
  sent += other.sent;
  unsent += other.unsent;
  length_ns = std::max(length_ns, other.length_ns);
  max_lag_ns = std::max(max_lag_ns, other.max_lag_ns);
  last_lag_ns = std::max(last_lag_ns, other.last_lag_ns);
}

Pacer::Pacer(const PacerOptions& options) noexcept
    : gap_ns_(options.rate_per_s > 0 ? static_cast<double>(kNsPerS) * options.threads / options.rate_per_s
                                     : 0),
      first_gap_ns_(gap_ns_ * options.index / options.threads),
      trace_(options.trace),
      trace_speed_(options.trace_speed),
      sine_(options.sine),
      rate_per_s_(options.rate_per_s),
      threads_(options.threads),
      first_(options.index),
      random_(options.seed * 0xD1B54A32D192ED03ULL + options.index) {
  figures_.rate_per_s = options.rate_per_s / options.threads;
  figures_.arrivals = options.arrivals;
}

void Pacer::start(std::uint64_t now_ns) noexcept {
  start_ns_ = now_ns;
  number_ = 0;
  offset_ns_ = 0;
  position_ = 0;
  advance();
}

std::uint64_t Pacer::send(std::uint64_t now_ns) noexcept {
  const std::uint64_t due_ns = next_ns_;
  const std::uint64_t lag = lag_ns(now_ns);
  ++figures_.sent;
  figures_.last_lag_ns = lag;
  figures_.max_lag_ns = std::max(figures_.max_lag_ns, lag);
  figures_.length_ns = due_ns - start_ns_;
  advance();
  return due_ns;
}

void Pacer::stop(std::uint64_t end_ns) noexcept {
  while (paced() && next_ns_ < end_ns) {
    ++figures_.unsent;
    advance();
  }
}

void Pacer::advance() noexcept {
  const bool poisson = figures_.arrivals == Arrivals::poisson;
  if (trace_ != nullptr) {
    const auto request = static_cast<std::size_t>(first_) + number_ * static_cast<std::size_t>(threads_);
    offset_ns_ = request < trace_->size()
                     ? std::min(kNsPerS * trace_->offset_s(request) / trace_speed_, kFarAwayNs)
                     : kFarAwayNs;
  } else if (sine_.amplitude_per_s != 0) {
    // By the number of operations of all threads that are due before it.
    position_ = poisson ? position_ - std::log(1.0 - next_unit(random_)) * threads_
                        : first_ + static_cast<double>(number_) * threads_;
    offset_ns_ = kNsPerS * sine_.time_of(rate_per_s_, position_, offset_ns_ / kNsPerS);
  } else if (poisson) {
    offset_ns_ += -std::log(1.0 - next_unit(random_)) * gap_ns_;
  } else {
    // Multiplied, not summed up: no rounding piles up over a billion operations.
    offset_ns_ = first_gap_ns_ + static_cast<double>(number_) * gap_ns_;
  }
  ++number_;
  next_ns_ = start_ns_ + static_cast<std::uint64_t>(offset_ns_);
}

}  // namespace mxkv::bench
