// Whether a test took a path that is named in the code.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/base/paths.hpp"

namespace mxkv::index::testing {

/// How often a path was taken since this was made; where paths are not counted, it says that the path was
/// taken.
class Taken {
 public:
  explicit Taken(runtime::path which) : which_(static_cast<std::size_t>(which)) {}
  [[nodiscard]] std::uint64_t times() const {
    return runtime::paths::kCounted ? runtime::paths::all()[which_] - before_[which_] : 1;
  }

 private:
  std::size_t which_;
  runtime::paths::Counts before_ = runtime::paths::all();
};

}  // namespace mxkv::index::testing
