// Where the shell's lines are kept between its runs.
#pragma once

#include <string>

namespace mxkv::cli {

/// $XDG_STATE_HOME/mxkv/history, else ~/.local/state/mxkv/history; its folder is there, and the file can be read by its
/// owner alone. Empty: nothing can be kept.
[[nodiscard]] std::string history_path();

}  // namespace mxkv::cli
