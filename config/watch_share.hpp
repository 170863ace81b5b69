// How much of the memory limit range watches may take, whatever is configured.
#pragma once

#include <cstddef>

namespace mxkv::config {

/// Neither `watch.memory` nor `watch.ring` takes more than this part of the limit.
inline constexpr std::size_t kPartForWatches = 8;

}  // namespace mxkv::config
