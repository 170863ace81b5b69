// Reports a fault that ends the process: one report on standard error and in the log's file. The system may
// keep a core besides.
//
// The report has the signal, the thread, the version and the build id, and the call stack as offsets in
// files. Programs are stripped; names can be found later, from the debug symbols of that build id. The
// handler calls only functions that a signal handler may call: no allocation, no lock, no symbol tables.
// Stack overflows of worker threads are not reported, as the handler runs on the thread's own stack.
#pragma once

#include <string>

namespace mxkv::server {

/// The bytes that identify this build, in hex; empty: the linker made none. Any thread.
[[nodiscard]] std::string build_id();

/// From here on faults and failed assertions are reported. Does nothing under a sanitizer, which reports by
/// itself. Start-up only, before other threads.
void report_crashes();

/// Appends reports to this file, too. The file need not exist yet, and is opened for each report. Empty:
/// standard error alone. The main thread.
void report_crashes_also_to(const std::string& file);

}  // namespace mxkv::server
