// YAML text -> Value. The only door to yaml-cpp.
#pragma once

#include <cstdint>
#include <string>

#include "config/findings.hpp"
#include "config/value.hpp"

namespace mxkv::config {

/// Whether lines and columns tell anyone anything: not inside an argument of the command line.
enum class places : std::uint8_t { lines, none };

/// The one document of `text`, with places in `source`; an empty text is `nothing`. What is wrong is added to
/// `findings`: repeated keys (the first one counts) and aliases (they would give one value two places) leave
/// a value to go on with; after bad syntax, keys that are not plain text or a second document it is `broken`.
/// Thread-safety: startup only.
[[nodiscard]] Value parse_yaml(const std::string& text, const std::string& source, places kept,
                               Findings& findings);

}  // namespace mxkv::config
