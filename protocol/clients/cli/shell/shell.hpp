// The shell, and scripts: lines one after the other.
#pragma once

#include "protocol/clients/cli/failure.hpp"
#include "protocol/clients/cli/session.hpp"

namespace mxkv::cli {

/// Lines of standard input, up to the first that fails (exit code 2 and above; "no" is an answer), or to the last.
Outcome run_script(Session& session, bool keep_going);
/// On a terminal: prompt, history, completion, until exit or Ctrl-D.
Outcome run_shell(Session& session);

}  // namespace mxkv::cli
