// Cuts the keys into ranges of about as many records each, which recovery processes in parallel.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "index/key.hpp"

namespace mxkv::server {

/// Thread-safety: any thread.
class KeyRanges {
 public:
  /// A key, and the number of records that it stands for.
  using Sample = std::pair<std::string, std::uint64_t>;

  /// Cuts at samples so that a range has about `records` records. Without samples: one range of all keys.
  KeyRanges(std::vector<Sample> samples, std::uint64_t records);

  [[nodiscard]] std::size_t size() const noexcept { return splitters_.size() + 1; }
  /// The first key that may be in range `i`; empty: it has all keys up to its end.
  [[nodiscard]] std::string_view from(std::size_t i) const noexcept {
    return i == 0 ? std::string_view{} : splitters_[i - 1];
  }
  /// The first key behind the range; empty: there is none.
  [[nodiscard]] std::string_view to(std::size_t i) const noexcept {
    return i == splitters_.size() ? std::string_view{} : splitters_[i];
  }
  /// Bytes that all keys of the range begin with.
  [[nodiscard]] std::size_t shared(std::size_t i) const noexcept { return shared_[i]; }
  /// The range that a key is in.
  [[nodiscard]] std::size_t of(std::string_view key) const noexcept;

 private:
  std::vector<std::string> splitters_;  ///< ascending
  std::vector<std::size_t> shared_;
  std::size_t common_ = 0;            ///< bytes that all splitters begin with
  std::vector<std::uint64_t> heads_;  ///< of the splitters, behind the common bytes
};

}  // namespace mxkv::server
