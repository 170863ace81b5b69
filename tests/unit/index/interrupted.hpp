// A test environment that can interrupt tasks where they look at fences: in the reads of separator and unlink
// tasks, between their reads and their latches, and under the latches.
#pragma once

#include <functional>

#include "tests/unit/index/tree_env.hpp"

namespace mxkv::index::testing {

/// The interruption; empty: none. For tests that step all workers on one thread.
inline std::function<void()>& interruption() {
  static std::function<void()> what;
  return what;
}

template <class TraitsT>
struct InterruptedTraits : TraitsT {
  using Key = typename TraitsT::Key;
  static Key fence_key(std::uint64_t fence) {
    if (interruption()) {
      interruption()();
    }
    return TraitsT::fence_key(fence);
  }
};

template <class Env>
class Interrupted : public Env {
 public:
  using Traits = InterruptedTraits<typename Env::Traits>;
  using Env::Env;
};

}  // namespace mxkv::index::testing
