// Texts of --version and --help besides the flags: how and from what this program was built, the CPU's
// relevant features, and examples.
#pragma once

#include <string>

namespace mxkv::server {

/// One line: name, version, and the commit of the sources.
[[nodiscard]] std::string program_text();

/// Several lines; the first is "mxkvd VERSION". Any thread.
[[nodiscard]] std::string version_text();

/// Examples, signals and exit codes, for the end of --help. Any thread.
[[nodiscard]] std::string help_footer();

}  // namespace mxkv::server
