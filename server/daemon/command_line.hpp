// The command line of mxkvd: flags -> options. The only place that knows CLI11.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <variant>

#include "config/options.hpp"
#include "runtime/base/result.hpp"
#include "server/daemon/cluster_commands.hpp"
#include "server/daemon/commands.hpp"
#include "server/daemon/directory_commands.hpp"

namespace mxkv::server {

/// The text of --help or --version for standard output; there is nothing to start.
struct Information {
  std::string text;
};

/// The user's request: to serve with these options, or another command.
using Request =
    std::variant<config::DaemonOptions, Information, TopologyCommand, CheckCommand, PrintConfigCommand,
                 HashPasswordCommand, JournalCommand, CheckpointCommand, ClusterCommand>;

/// Options by strength: flags, `--set`, file, defaults. Errors: all at once, a line each, with the flag, the
/// `--set` path or file:line:column. A relative name of the file begins at `directory`. Thread-safety: the
/// main thread.
[[nodiscard]] runtime::Result<Request> parse_command_line(int count, const char* const* arguments,
                                                          const std::filesystem::path& directory = {});

}  // namespace mxkv::server
