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

/// Prints what the command prints; its failure on standard error, begun with `place`. After a failure on the way the
/// connection is dialled anew by the next command.
LineOutcome run_line(Session& session, const std::string& line, const std::string& place);

}  // namespace mxkv::cli
