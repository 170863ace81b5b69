// `config get`: prints options as lines for clients.
#pragma once

#include <string>
#include <string_view>

#include "config/options.hpp"

namespace mxkv::server {

/// The whole reply: a line `CONFIG <path> <now|start> <value> # <origin>` for each option that matches the
/// pattern, in the order of the example file, then END. now: it can change while the server runs. The value
/// is written as in a file. A pattern is an option, a section, or either with * and ?; empty: all. A pattern
/// without * and ? that matches nothing is an error. Thread-safety: any thread.
[[nodiscard]] std::string config_lines(const config::DaemonOptions& options, std::string_view pattern);

}  // namespace mxkv::server
