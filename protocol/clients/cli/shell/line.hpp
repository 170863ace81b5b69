// One line of the shell or of a script, run: the same commands and options as on the command line.
#pragma once

#include <string>

#include "protocol/clients/cli/failure.hpp"
#include "protocol/clients/cli/session.hpp"

namespace mxkv::cli {

enum class LineEnd { went_on, leave };
struct LineOutcome {
  Outcome outcome = Outcome::done;
  LineEnd end = LineEnd::went_on;
};

/// Runs the command and prints its output. Prints a failure on standard error, with `place` before it. After
/// a failure in the middle of a command, the next command connects again.
LineOutcome run_line(Session& session, const std::string& line, const std::string& place);

}  // namespace mxkv::cli
