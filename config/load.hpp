// From a YAML file, `--set` arguments and flags to options. Order of strength: flags, `--set`, file,
// defaults. Reading only: nothing here looks at the machine.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "config/findings.hpp"
#include "config/options.hpp"
#include "runtime/base/result.hpp"

namespace mxkv::config {

/// A flag that stands for a key: its texts are values as they are, no YAML.
struct Flag {
  std::string name;                ///< "--workers"
  std::string key;                 ///< "workers"
  std::vector<std::string> texts;  ///< one; for a list one for each item
  bool list = false;
};

/// What became of it all.
struct Loaded {
  DaemonOptions options;  ///< what was wrong kept the value that it had before
  Findings findings;      ///< everything that is wrong; none: the options are good
};

/// Defaults, changed by `file` where given, then by each of `sets` ("path.to.key=value", the value as it
/// would stand in the file; lists are replaced whole), then by each of `flags`. What a flag or a `--set` says
/// about workers, cpus, nodes or topologies puts aside what the file says about the others of the four; and
/// one about memory.limit puts aside the file's shares of nodes.
/// Findings: whatever is wrong in the text; unknown and repeated keys too; a file that cannot be read.
/// Thread-safety: startup only.
[[nodiscard]] Loaded read_options(const std::optional<std::filesystem::path>& file,
                                  std::span<const std::string> sets, std::span<const Flag> flags);

/// `options`, changed by one of them, `path`, as if `text` stood there in a file; `source` is who says so. What it puts
/// aside is as of a `--set`. Thread-safety: any thread.
[[nodiscard]] Loaded with_option(DaemonOptions options, const std::string& path, const std::string& text,
                                 const std::string& source);

/// The options, or all findings as one error, a line each. Thread-safety: startup only.
[[nodiscard]] runtime::Result<DaemonOptions> load(const std::optional<std::filesystem::path>& file,
                                                  std::span<const std::string> sets,
                                                  std::span<const Flag> flags = {});

}  // namespace mxkv::config
