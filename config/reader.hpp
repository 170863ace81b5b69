// Applies a Value to options by the schema, and finds all mistakes in it.
#pragma once

#include <functional>

#include "config/findings.hpp"
#include "config/schema.hpp"
#include "config/value.hpp"

namespace mxkv::config {

/// Sets the values of `root` in `options`, notes their places, and leaves the other options. A mistake is
/// added to `findings`, and its option keeps its value. Thread-safety: owner of `options` only.
void apply(const Value& root, DaemonOptions& options, Findings& findings);

/// The same for the fields that `schema` shows. Thread-safety: the owner of the fields' targets.
void apply(const Value& root, const std::function<void(SchemaVisitor&)>& schema, Origins& origins,
           Findings& findings);

}  // namespace mxkv::config
