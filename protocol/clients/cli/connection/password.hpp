// Where a password comes from: a file, the environment, or somebody who types it. Never the command line, which
// others can read.
#pragma once

#include <string>

namespace mxkv::cli {

/// The first line of `file`, if one is given; else MXKV_PASSWORD; else asked for on the terminal, without echo. Throws
/// Failure: file, login.
[[nodiscard]] std::string find_password(const std::string& file, const std::string& user,
                                        const std::string& server);

}  // namespace mxkv::cli
