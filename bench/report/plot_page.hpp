// Results side by side, as one HTML page that needs nothing else: no script, no file, no network.
#pragma once

#include <string>
#include <vector>

#include "bench/report/run_result.hpp"

namespace mxkv::bench {

struct NamedResult {
  std::string name;  ///< in legends; different from all others
  RunResult result;
};

/// The names that results go by: their labels where all have one and all differ, else the names of their
/// files.
std::vector<NamedResult> name_results(const std::vector<std::string>& files, std::vector<RunResult> results);

/// How such a page begins, up to and with its heading; </body></html> ends it. `title` is plain text.
std::string page_start(const std::string& title, const std::string& heading);

/// A table of all, latency by percentile for each kind of operation, throughput and latency over time,
/// comparisons, and how each result was measured. Well-formed XML too.
std::string plot_page(const std::vector<NamedResult>& results);

}  // namespace mxkv::bench
