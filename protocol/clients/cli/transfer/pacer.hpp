// Holds work back to a rate.
#pragma once

#include <chrono>
#include <cstdint>

namespace mxkv::cli {

/// Thread-safety: one thread.
class Pacer {
 public:
  /// `rate` a second; 0: no limit.
  explicit Pacer(double rate) : rate_(rate), begin_(std::chrono::steady_clock::now()) {}
  /// Sleeps until `done` since the beginning are not too many. Throws Failure when interrupted.
  void wait_until_due(std::uint64_t done) const;

 private:
  double rate_;
  std::chrono::steady_clock::time_point begin_;
};

}  // namespace mxkv::cli
