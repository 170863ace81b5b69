// The keys that are asked for most, of a sample of requests: the space-saving sketch of Metwally et al. A key
// that is not known takes the place of the rarest one, and its count plus one; so counts are upper bounds,
// and what is asked for in more than 1 of kMost sampled requests is always there. Old counts fade: all are
// halved now and then.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/request.hpp"

namespace mxkv::server {

/// Thread-safety: any thread. The owner adds, rarely; others read, very rarely.
class HotKeys {
 public:
  static constexpr std::size_t kMost = 64;
  static constexpr std::uint64_t kHalvedEvery = 1U << 16U;  ///< samples

  struct Count {
    std::string key;
    std::uint64_t samples = 0;
  };

  void add(std::string_view key);
  /// In no order.
  [[nodiscard]] std::vector<Count> counts() const;
  void clear();

 private:
  struct Slot {
    std::uint64_t samples = 0;
    std::uint32_t hash = 0;
    std::uint8_t bytes = 0;
    std::array<char, protocol::kMaxKeyBytes> key;
  };

  mutable std::mutex mutex_;  ///< guards all
  std::array<Slot, kMost> slots_{};
  std::uint64_t added_ = 0;
};

}  // namespace mxkv::server
