// A copy of a data directory as it was at one moment, which a daemon can be started on. Also while one runs on
// the directory: it is not asked, and does not notice.
//
// A checkpoint's parts never change: they get a second name in the copy, or are copied where that is on another
// file system. The journal's segments are copied from the epoch on that the checkpoint was begun in; the copy
// ends with the last group that is whole in it. A newer checkpoint may remove files meanwhile: then the copy
// begins again.
#pragma once

#include <string>

#include "server/durability/journal_tool.hpp"

namespace mxkv::server {

/// `to` is made; it may be there if it is empty. It holds a whole copy, or what had been copied is gone again.
/// Prints one line about what was copied. Thread-safety: any thread.
[[nodiscard]] ToolOutcome back_up(const std::string& directory, const std::string& to,
                                  const LinePrinter& print);

}  // namespace mxkv::server
