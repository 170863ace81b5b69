// `config get`: options as lines for clients.
#pragma once

#include <string>
#include <string_view>

#include "config/options.hpp"

namespace mxkv::server {

/// The whole reply: a line `CONFIG <path> <now|start> <value> # <who set it>` for each option that the pattern fits, in the
/// order of the example file, then END. now: it can change while the server runs. The value is as a file has it. A pattern
/// is an option, a section, or either with * and ?; empty: all. One without * and ? that fits nothing is an error.
/// Thread-safety: any thread.
[[nodiscard]] std::string config_lines(const config::DaemonOptions& options, std::string_view pattern);

}  // namespace mxkv::server
