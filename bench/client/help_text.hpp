// What mxkv-ycsb's help and its errors about unknown words say.
#pragma once

#include <string>

#include "runtime/base/command_line.hpp"

namespace mxkv::bench {

/// Command lines to begin with. Ends with LF.
[[nodiscard]] std::string examples();
/// Behind the flags of load and run: examples, and the properties that have flags.
[[nodiscard]] std::string footer();
/// Flags of other load clients, and flags that are properties.
[[nodiscard]] runtime::WordHints hints();

}  // namespace mxkv::bench
