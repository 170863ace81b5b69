// Texts as scalars of YAML, so that they are read again as they are. Without a YAML library: writing is easy.
#pragma once

#include <string>
#include <string_view>

namespace mxkv::config {

/// In double quotes, on one line. Thread-safety: any thread.
[[nodiscard]] std::string in_yaml_quotes(std::string_view text);

/// As it is where that is the same to YAML, else in quotes. Thread-safety: any thread.
[[nodiscard]] std::string to_yaml(std::string_view text);

}  // namespace mxkv::config
