// A run as a table: one line a second and kind of operation, and lines for the run as a whole.
#pragma once

#include <string>

#include "bench/report/run_result.hpp"

namespace mxkv::bench {

/// Columns: scope ("run" or "second"), start_s, length_s, operation ("ALL", "READ", ..; "Intended-READ" for
/// latencies from the due time), operations, ops_per_s, mean_us, min_us, p50_us .. p99.99_us, max_us. In
/// lines of a second of a paced run latencies are from the due time.
std::string csv_text(const RunResult& result);

}  // namespace mxkv::bench
