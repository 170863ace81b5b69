// Applies a Value to options by the schema and finds everything that is wrong with it.
#pragma once

#include <string>
#include <string_view>

#include "config/schema.hpp"
#include "config/value.hpp"

namespace mxkv::config {

/// Sets in `options` what `root` says, and leaves the rest.
/// The value is the first mistake in the order of the text; `options` may then be half changed.
/// Thread-safety: owner of `options` only.
[[nodiscard]] Mistake apply(const Value& root, DaemonOptions& options);

}  // namespace mxkv::config
