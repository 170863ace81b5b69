// Options as text.
#pragma once

#include <string>
#include <vector>

#include "config/options.hpp"

namespace mxkv::config {

/// Every key with its value in `options`, one `path = value` a line, in the order of the example file.
/// Thread-safety: any thread.
[[nodiscard]] std::string describe(const DaemonOptions& options);

/// An option with its origin.
struct Setting {
  std::string path;
  std::string value;   ///< as in a file, on one line
  std::string origin;  ///< "file:line:column", a flag, or "default"
};
/// All options, in the order of the example file. Thread-safety: any thread.
[[nodiscard]] std::vector<Setting> settings(const DaemonOptions& options);

/// The same as a file that loads as the same options; the comment behind each value is its origin.
/// Thread-safety: any thread.
[[nodiscard]] std::string print_yaml(const DaemonOptions& options);

}  // namespace mxkv::config
