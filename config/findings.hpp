// The mistakes in a configuration: all at once, in the order of the text.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "config/origin.hpp"
#include "runtime/base/result.hpp"

namespace mxkv::config {

/// One mistake.
struct Finding {
  Origin origin;     ///< without a source: it has no place in the text, such as a machine that lacks
                     ///< something
  std::string path;  ///< the value's, such as "nodes[1].cpus"; empty: the whole text
  std::string what;  ///< the mistake, and the allowed values: "is ... (allowed: ...)"
};
using Findings = std::vector<Finding>;

/// Shows this many findings, and the number of the others.
inline constexpr std::size_t kMostFindingsShown = 50;

/// "origin: path: what", one line without control characters. The path is left out if the place already ends
/// in it.
[[nodiscard]] std::string to_string(const Finding& finding);

/// Sorts findings with a line by place; the others follow in their order.
void sort_by_place(Findings& findings);

/// All of them sorted, a line each, at most kMostFindingsShown. There must be at least one.
[[nodiscard]] runtime::Error to_error(Findings findings);

}  // namespace mxkv::config
