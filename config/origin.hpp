// The origin of a value: for errors, and to show an operator where the value was set.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace mxkv::config {

/// A place in a file, or an argument of the command line, which has no line and column.
struct Origin {
  std::string source;        ///< file name, "--set path", or a flag such as "--workers"
  std::uint32_t line = 0;    ///< from 1; 0: not in a file
  std::uint32_t column = 0;  ///< from 1
  friend bool operator==(const Origin&, const Origin&) = default;
};

/// By the path of a value, such as "memory.limit", "nodes" or "nodes[1].cpus". A path that is not in it has
/// its default.
using Origins = std::map<std::string, Origin, std::less<>>;

/// "file:line:column", or only the source if it has no lines.
[[nodiscard]] std::string to_string(const Origin& origin);

/// The origin of the value at `path`, else of the nearest list or section around it; null: a default.
/// Thread-safety: any thread.
[[nodiscard]] const Origin* find_origin(const Origins& origins, std::string_view path);

/// Forgets `path` and all paths in it.
void forget_origins(Origins& origins, std::string_view path);

}  // namespace mxkv::config
