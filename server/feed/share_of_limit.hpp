// How much of the memory limit the parts of range watches may take, whatever is configured.
#pragma once

#include <algorithm>
#include <cstddef>

#include "config/watch_share.hpp"
#include "runtime/memory/memory_budget.hpp"

namespace mxkv::server {

/// `bytes`, or the greatest part of the limit if that is less. `budget`: null: there is no limit. Thread-safety: any thread.
[[nodiscard]] inline std::size_t within_share(std::size_t bytes,
                                              const runtime::MemoryBudget* budget) noexcept {
  return budget == nullptr ? bytes : std::min(bytes, budget->limit_bytes() / config::kPartForWatches);
}

}  // namespace mxkv::server
