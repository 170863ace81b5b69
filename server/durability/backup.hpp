// Copies a data directory as it was at one moment; a daemon can start on the copy. A daemon may run on the
// original: it is not asked, and does not notice.
//
// A checkpoint's parts never change: they get a second name in the copy, or are copied if that is on another
// file system. The journal's segments are copied from the epoch on at which the checkpoint was begun. The
// copy ends with the last group that is whole in it. If a newer checkpoint removes files meanwhile, the copy
// starts again.
#pragma once

#include <string>

#include "server/durability/journal_tool.hpp"

namespace mxkv::server {

/// Makes `to`, which may exist if it is empty. It then has a whole copy, or all that was copied is removed
/// again. Prints one line about the copy. Thread-safety: any thread.
[[nodiscard]] ToolOutcome back_up(const std::string& directory, const std::string& to,
                                  const LinePrinter& print);

}  // namespace mxkv::server
