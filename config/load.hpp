// From a YAML file and `--set` arguments to options. The order of strength is flags (the server's, applied
// on top of the result), `--set`, file, defaults. Reading only: nothing here looks at the machine.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "config/options.hpp"
#include "runtime/base/result.hpp"

namespace mxkv::config {

/// Defaults, changed by `file` where given, then by each of `sets` ("path.to.key=value", the value as it
/// would stand in the file; lists are replaced whole).
/// Errors: the first mistake in the text, as `file:line:column: key: what is wrong (what is allowed)`, for
/// `sets` as `--set path: ...`; a file that cannot be read. Unknown and repeated keys are mistakes.
/// Thread-safety: startup only.
[[nodiscard]] runtime::Result<DaemonOptions> load(const std::optional<std::filesystem::path>& file,
                                                  std::span<const std::string> sets);

/// Every key with its value in `options`, one `path = value` a line, in the order of the example file.
/// Thread-safety: any thread.
[[nodiscard]] std::string describe(const DaemonOptions& options);

}  // namespace mxkv::config
