// The resources that a user, or a client's address, uses now, and their limits.
#pragma once

#include <atomic>
#include <cstdint>

#include "server/net/users/rate.hpp"

namespace mxkv::server {

/// The sum over all workers. Thread-safety: any thread. Relaxed: limits and statistics.
struct Usage {
  std::atomic<std::uint32_t> connections{0};
  Rate requests;
  Rate bytes;

  /// Counts one connection more, if `most` allows; 0: any number.
  [[nodiscard]] bool begin_connection(std::uint32_t most) noexcept {
    if (connections.fetch_add(1, std::memory_order_relaxed) < most || most == 0) {
      return true;
    }
    end_connection();
    return false;
  }
  void end_connection() noexcept { connections.fetch_sub(1, std::memory_order_relaxed); }
  [[nodiscard]] bool has_rates() const noexcept { return requests.limits() || bytes.limits(); }
};

}  // namespace mxkv::server
