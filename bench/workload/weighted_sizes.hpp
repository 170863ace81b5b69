// A list of sizes with weights, such as "100:3,1000:1": three quarters have 100 bytes, a quarter has 1000.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "runtime/base/result.hpp"

namespace mxkv::bench {

class WeightedSizes {
 public:
  /// Weights are whole, and their sum is above 0. The error begins with the wrong entry: "'x' is not ...".
  static runtime::Result<WeightedSizes> parse(std::string_view text, std::uint64_t most_bytes);

  /// Adds a size whose draws end at `end`, the sum of all weights so far; without a weight it is left out.
  void add(std::size_t bytes, std::uint64_t end);
  [[nodiscard]] bool empty() const noexcept { return entries_.empty(); }
  /// The sum of all weights.
  [[nodiscard]] std::uint64_t draws() const noexcept { return entries_.back().end; }
  /// The size that a number below draws() stands for.
  [[nodiscard]] std::size_t bytes_of(std::uint64_t draw) const noexcept;
  [[nodiscard]] std::size_t least_bytes() const noexcept;
  [[nodiscard]] std::size_t most_bytes() const noexcept;

 private:
  struct Entry {
    std::size_t bytes;
    std::uint64_t end;  // the sum of the weights up to this one
  };
  std::vector<Entry> entries_;  // without entries of weight 0
};

}  // namespace mxkv::bench
