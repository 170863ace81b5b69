// Where a piece of configuration comes from: for errors, and for telling an operator who set a value.
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

/// By the path of a value, such as "memory.limit", "nodes" or "nodes[1].cpus". What is absent has its
/// default.
using Origins = std::map<std::string, Origin, std::less<>>;

/// "file:line:column", or the source alone where it has no lines.
[[nodiscard]] std::string to_string(const Origin& origin);

/// Of the value at `path`, else of the nearest list or section around it; null: a default.
/// Thread-safety: any thread.
[[nodiscard]] const Origin* find_origin(const Origins& origins, std::string_view path);

/// Forgets `path` and all that is in it.
void forget_origins(Origins& origins, std::string_view path);

}  // namespace mxkv::config
