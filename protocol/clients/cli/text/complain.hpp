// Messages of mxkv-cli on standard error.
#pragma once

#include <string_view>

namespace mxkv::cli {

/// Prints one line, after flushing standard output. The line may quote the server or a file, so bytes that a
/// terminal would obey are escaped.
void complain(std::string_view line);

}  // namespace mxkv::cli
