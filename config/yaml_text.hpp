// Texts as scalars of YAML that are read back unchanged. Writing needs no YAML library.
#pragma once

#include <string>
#include <string_view>

namespace mxkv::config {

/// In double quotes, on one line. Thread-safety: any thread.
[[nodiscard]] std::string in_yaml_quotes(std::string_view text);

/// Plain if YAML reads it back unchanged, else in quotes. Thread-safety: any thread.
[[nodiscard]] std::string to_yaml(std::string_view text);

}  // namespace mxkv::config
