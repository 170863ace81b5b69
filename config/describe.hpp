// Options as text.
#pragma once

#include <string>

#include "config/options.hpp"

namespace mxkv::config {

/// Every key with its value in `options`, one `path = value` a line, in the order of the example file.
/// Thread-safety: any thread.
[[nodiscard]] std::string describe(const DaemonOptions& options);

/// The same as a file that loads as the same options; behind each value, as a comment, who set it.
/// Thread-safety: any thread.
[[nodiscard]] std::string print_yaml(const DaemonOptions& options);

}  // namespace mxkv::config
