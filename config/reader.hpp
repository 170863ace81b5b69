// Applies a Value to options by the schema and finds everything that is wrong with it.
#pragma once

#include <functional>

#include "config/findings.hpp"
#include "config/schema.hpp"
#include "config/value.hpp"

namespace mxkv::config {

/// Sets in `options` what `root` says, notes where that stood, and leaves the rest. What is wrong is added to
/// `findings`, and leaves its option alone. Thread-safety: owner of `options` only.
void apply(const Value& root, DaemonOptions& options, Findings& findings);

/// The same for whatever `schema` shows. Thread-safety: whoever owns what that sets.
void apply(const Value& root, const std::function<void(SchemaVisitor&)>& schema, Origins& origins,
           Findings& findings);

}  // namespace mxkv::config
