// Which listeners stand in each other's way.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "config/options.hpp"

namespace mxkv::config {

/// Pairs of indices (first, second) of which the system would refuse the second: one socket file, or one port
/// of one address, however it is written, or of all addresses of its version. Each second once.
/// Thread-safety: any thread.
[[nodiscard]] std::vector<std::pair<std::size_t, std::size_t>> collisions(
    const std::vector<ListenAddress>& listeners);

}  // namespace mxkv::config
