// What is wrong with a configuration: everything at once, in the order in which one reads it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "config/origin.hpp"
#include "runtime/base/result.hpp"

namespace mxkv::config {

/// One mistake.
struct Finding {
  Origin origin;     ///< without a source: nobody's place, such as a machine that lacks something
  std::string path;  ///< of the value, such as "nodes[1].cpus"; empty: the whole text
  std::string what;  ///< "is wrong so (allowed: so)"
};
using Findings = std::vector<Finding>;

/// So many are shown; of the rest only how many there are.
inline constexpr std::size_t kMostFindingsShown = 50;

/// "origin: path: what", one line without control characters. A place that already ends in the path is not
/// told it again.
[[nodiscard]] std::string to_string(const Finding& finding);

/// First what has a line, by place; then the rest, as found.
void sort_by_place(Findings& findings);

/// All of them sorted, a line each, at most kMostFindingsShown. There must be one.
[[nodiscard]] runtime::Error to_error(Findings findings);

}  // namespace mxkv::config
