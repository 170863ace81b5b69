// From a YAML file, `--set` arguments and flags to options. Order of strength: flags, `--set`, file,
// defaults. Nothing here looks at the machine.
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

/// A flag that stands for a key: its texts are plain values, not YAML.
struct Flag {
  std::string name;                ///< "--workers"
  std::string key;                 ///< "workers"
  std::vector<std::string> texts;  ///< one; for a list, one for each item
  bool list = false;
};

/// The result of reading.
struct Loaded {
  DaemonOptions options;  ///< an option with a mistake keeps its former value
  Findings findings;      ///< all mistakes; none: the options are good
};

/// Defaults, changed by `file` if given, then by each of `sets` ("path.to.key=value", with the value as in
/// the file; a list is replaced whole), then by each of `flags`. A flag or a `--set` of workers or cpus
/// overrides the file's nodes and topologies; one of nodes or topologies overrides the file's other three of
/// these four. A flag or a `--set` of memory.limit overrides the file's shares of nodes. Findings: all
/// mistakes in the text; also unknown and repeated keys, and a file that cannot be read. Thread-safety:
/// startup only.
[[nodiscard]] Loaded read_options(const std::optional<std::filesystem::path>& file,
                                  std::span<const std::string> sets, std::span<const Flag> flags);

/// `options` with the value at `path` changed as if `text` stood there in a file; `source` is the change's
/// origin. It overrides like a `--set`. Thread-safety: any thread.
[[nodiscard]] Loaded with_option(DaemonOptions options, const std::string& path, const std::string& text,
                                 const std::string& source);

/// The options, or all findings as one error, a line each. Thread-safety: startup only.
[[nodiscard]] runtime::Result<DaemonOptions> load(const std::optional<std::filesystem::path>& file,
                                                  std::span<const std::string> sets,
                                                  std::span<const Flag> flags = {});

}  // namespace mxkv::config
