// What a process that dies of a fault leaves behind: one report on standard error and in the log's file, then the
// core that the system keeps, if it keeps one.
//
// The report names the signal, the thread, the version and the build id, and the call stack as places in files:
// programs are stripped, and names come later, from the debug symbols of that build id. The handler calls nothing
// that may not be called in one: no allocation, no lock, no symbol tables. Stacks of worker threads that overflowed
// are not reported, as the handler runs on them.
#pragma once

#include <string>

namespace mxkv::server {

/// The bytes that tell this program from any other build, in hex; empty: the linker made none. Any thread.
[[nodiscard]] std::string build_id();

/// From here on faults and failed assertions are reported. Where a sanitizer reports itself, nothing is done.
/// Start-up only, before other threads.
void report_crashes();

/// Reports go to the end of this file, too; it need not be there yet, and is opened anew for each. Empty: to
/// standard error alone. The main thread.
void report_crashes_also_to(const std::string& file);

}  // namespace mxkv::server
