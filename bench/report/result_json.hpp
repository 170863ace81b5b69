// A run's result as JSON, and back. It has whole histograms, so that results can be merged exactly.
//
// A histogram is {count, mean_us, p50_us .., min_ns, max_ns, sum_ns, buckets}; the derived figures are for
// people, and not read back. `buckets` is [bucket, count, bucket, count, ..]. Bucket b holds values up to b
// for b < 256, and up to ((b - 128 * s + 1) << s) - 1 nanoseconds with s = b / 128 - 1 above.
#pragma once

#include <string>

#include "bench/report/run_result.hpp"
#include "runtime/base/result.hpp"

namespace mxkv::bench {

std::string to_json(const RunResult& result);
/// Fails if a part of the text is missing or wrong; the error names it.
runtime::Result<RunResult> from_json(const std::string& text);

}  // namespace mxkv::bench
