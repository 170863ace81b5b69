// The file that keeps the shell's lines between its runs.
#pragma once

#include <string>

namespace mxkv::cli {

/// $XDG_STATE_HOME/mxkv/history, else ~/.local/state/mxkv/history. Makes the folder, and the file, which only
/// its owner can read. Empty if the history cannot be kept.
[[nodiscard]] std::string history_path();

}  // namespace mxkv::cli
