// The faults that a simulated world finds in itself, in words. Not GoogleTest's expectations, so that a test
// can run a world that it broke on purpose and check that the world noticed.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace mxkv::simulation {

/// Thread-safety: one thread.
class Complaints {
 public:
  static constexpr std::size_t kMost = 20;  ///< one mistake makes many

  void add(std::string what) {
    if (all_.size() < kMost) {
      all_.push_back(std::move(what));
    }
  }
  /// Complains unless `good`.
  void unless(bool good, const char* what) {
    if (!good) {
      add(what);
    }
  }
  [[nodiscard]] bool empty() const noexcept { return all_.empty(); }
  [[nodiscard]] const std::vector<std::string>& all() const noexcept { return all_; }

 private:
  std::vector<std::string> all_;
};

}  // namespace mxkv::simulation
