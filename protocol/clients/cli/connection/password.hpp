// The password comes from a file, the environment, or the terminal. It never comes from the command line,
// which other users can read.
#pragma once

#include <string>

namespace mxkv::cli {

/// The first line of `file`, if given; else MXKV_PASSWORD; else asks on the terminal, without echo. Throws
/// Failure: file, login.
[[nodiscard]] std::string find_password(const std::string& file, const std::string& user,
                                        const std::string& server);

}  // namespace mxkv::cli
