// What mxkv-cli says on standard error.
#pragma once

#include <string_view>

namespace mxkv::cli {

/// One line. What was printed before goes out first. Texts of the server or of files stand in it, so that what a
/// terminal would obey is escaped.
void complain(std::string_view line);

}  // namespace mxkv::cli
