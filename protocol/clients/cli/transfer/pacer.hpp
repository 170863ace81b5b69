// Limits a transfer to a rate.
#pragma once

#include <chrono>
#include <cstdint>

namespace mxkv::cli {

/// Thread-safety: one thread.
class Pacer {
 public:
  /// `rate`: items per second; 0: no limit.
  explicit Pacer(double rate) : rate_(rate), begin_(std::chrono::steady_clock::now()) {}
  /// Sleeps until `done` items since the beginning do not exceed the rate. Throws Failure when interrupted.
  void wait_until_due(std::uint64_t done) const;

 private:
  double rate_;
  std::chrono::steady_clock::time_point begin_;
};

}  // namespace mxkv::cli
