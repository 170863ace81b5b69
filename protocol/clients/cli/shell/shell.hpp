// The shell, and scripts: lines one after the other.
#pragma once

#include "protocol/clients/cli/failure.hpp"
#include "protocol/clients/cli/session.hpp"

namespace mxkv::cli {

/// Runs lines of standard input up to the first that fails (exit code 2 and above; "no" is an answer), or all
/// of them with `keep_going`.
Outcome run_script(Session& session, bool keep_going);
/// Runs a shell on a terminal, with prompt, history and completion, until exit or Ctrl-D.
Outcome run_shell(Session& session);

}  // namespace mxkv::cli
