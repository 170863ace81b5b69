// A whole run: its threads, its progress lines, and the sum of the threads' counters.
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

/// The process's exit code: 0 if at most `max_failures` operations failed, and the run was not ended early.
int exit_code_of(const RunResult& result, bool misses_allowed, std::uint64_t max_failures = 0) noexcept;

}  // namespace mxkv::bench
