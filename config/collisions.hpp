// Finds listeners that exclude each other.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "config/options.hpp"

namespace mxkv::config {

/// Pairs of indices (first, second) of listeners of which the system would refuse the second: they have the
/// same socket file, or the same port on one address, however written, or on all addresses of its version.
/// Each second appears once.
/// Thread-safety: any thread.
[[nodiscard]] std::vector<std::pair<std::size_t, std::size_t>> collisions(
    const std::vector<ListenAddress>& listeners);

}  // namespace mxkv::config
