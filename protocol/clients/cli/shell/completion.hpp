// Completes a word of the shell's line: commands, options, and keys that the server has.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "protocol/clients/cli/session.hpp"

namespace mxkv::cli {

struct Completion {
  std::string stem{};                ///< the word so far, as it was typed
  std::vector<std::string> whole{};  ///< the possible completions, or the first of them; may be empty
  std::string common{};              ///< what all possible completions begin with, those not in `whole` too
  bool more = false;                 ///< there are more than in `whole`
};

/// `before` is the line up to the cursor. Asks the server for at most a page of keys and the last one of them, and
/// waits as long as a command does. Without an answer there are no completions.
[[nodiscard]] Completion complete_line(Session& session, std::string_view before);
/// The longest common prefix of the words.
[[nodiscard]] std::string common_beginning(const std::vector<std::string>& words);

}  // namespace mxkv::cli
