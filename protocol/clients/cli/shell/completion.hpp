// What a word of the shell's line may become: commands, options, and keys that the server has.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "protocol/clients/cli/session.hpp"

namespace mxkv::cli {

struct Completion {
  std::string stem{};                ///< the word so far, as it was typed
  std::vector<std::string> whole{};  ///< what it may become; empty: nothing is known
};

/// `before` is the line up to the cursor. Asks the server for at most a page of keys, and for no longer than a second;
/// a server that does not answer completes nothing.
[[nodiscard]] Completion complete_line(Session& session, std::string_view before);
/// The longest beginning that all have in common.
[[nodiscard]] std::string common_beginning(const std::vector<std::string>& words);

}  // namespace mxkv::cli
