// Lines of standard input that come from no terminal.
#include <iostream>
#include <string>

#include "protocol/clients/cli/shell/line.hpp"
#include "protocol/clients/cli/shell/shell.hpp"
#include "runtime/base/readable.hpp"

namespace mxkv::cli {

Outcome run_script(Session& session, bool keep_going) {
  Outcome first = Outcome::done;
  std::string line;
  for (std::size_t number = 1; std::getline(std::cin, line); ++number) {
    if (number == 1) {
      line = std::string(runtime::without_byte_order_mark(line));
    }
    const LineOutcome done = run_line(session, line, "mxkv-cli: line " + std::to_string(number) + ": ");
    if (done.end == LineEnd::leave) {
      break;
    }
    const bool failed = done.outcome != Outcome::done && done.outcome != Outcome::no;
    if (failed && (!keep_going || done.outcome == Outcome::interrupted)) {
      return done.outcome;
    }
    if (first == Outcome::done && failed) {
      first = done.outcome;
    }
  }
  return first;
}

}  // namespace mxkv::cli
