// YAML text -> Value. The only door to yaml-cpp.
#pragma once

#include <cstdint>
#include <string>

#include "config/value.hpp"
#include "runtime/base/result.hpp"

namespace mxkv::config {

/// Whether lines and columns tell anyone anything: not inside an argument of the command line.
enum class places : std::uint8_t { lines, none };

/// The one document of `text`, with places in `source`; an empty text is `nothing`.
/// Errors: `source:line:column: what`, for bad syntax, repeated keys, keys that are not plain text, aliases
/// (they would give one value two places) and a second document. Thread-safety: startup only.
[[nodiscard]] runtime::Result<Value> parse_yaml(const std::string& text, const std::string& source,
                                                places kept);

/// "file:line:column", or the source alone where it has no lines.
[[nodiscard]] std::string to_string(const Origin& origin);

}  // namespace mxkv::config
