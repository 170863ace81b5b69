// YAML text -> Value. The only interface to yaml-cpp.
#pragma once

#include <cstdint>
#include <string>

#include "config/findings.hpp"
#include "config/value.hpp"

namespace mxkv::config {

/// Whether errors state lines and columns: not for an argument of the command line.
enum class places : std::uint8_t { lines, none };

/// The only document of `text`, with places in `source`; an empty text is `nothing`. Mistakes are added to
/// `findings`. With repeated keys (the first one counts) and aliases (they would give one value two places)
/// the value is still usable. With bad syntax, keys that are not plain text or a second document it is
/// `broken`. Thread-safety: startup only.
[[nodiscard]] Value parse_yaml(const std::string& text, const std::string& source, places kept,
                               Findings& findings);

}  // namespace mxkv::config
