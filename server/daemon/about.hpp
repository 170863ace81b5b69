// What --version and --help say besides the flags: how this program was built and from what, what the CPU
// offers it, and examples.
#pragma once

#include <string>

namespace mxkv::server {

/// One line: name, version, the commit that it was built from.
[[nodiscard]] std::string program_text();

/// Several lines; the first is "mxkvd VERSION". Any thread.
[[nodiscard]] std::string version_text();

/// Examples, signals and exit codes, for the end of --help. Any thread.
[[nodiscard]] std::string help_footer();

}  // namespace mxkv::server
