// A whole run: its threads, the progress lines while they work, and what they counted together.
#pragma once

#include <string>

#include "bench/client/interrupt.hpp"
#include "bench/client/options.hpp"
#include "bench/client/report.hpp"
#include "bench/report/run_result.hpp"
#include "runtime/base/result.hpp"

namespace mxkv::bench {

/// Connects, runs to the end, or until `interrupt` comes (null: never), prints progress lines to stderr.
/// Fails only before the first request. Thread-safety: one run a process at a time.
runtime::Result<RunResult> run_client(const Options& options, const Interrupt* interrupt = nullptr);

/// What the process exits with: 0 if no more than `max_failures` operations did not do what they had to, and
/// nothing ended the run early.
int exit_code_of(const RunResult& result, bool misses_allowed, std::uint64_t max_failures = 0) noexcept;

}  // namespace mxkv::bench
