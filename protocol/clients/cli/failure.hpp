// How a command of mxkv-cli ends when it cannot go on: one line for people, and the exit code.
//
// All failures end the command, so here they are exceptions with one handler. Expected results (a miss, a
// full socket) are values.
#pragma once

#include <stdexcept>
#include <string>

namespace mxkv::cli {

/// Exit codes: part of the interface, documented in mxkv-cli.1.
enum class Outcome : int {
  done = 0,
  no = 1,           ///< the server's answer is no: not found, not stored, another unique
  usage = 2,        ///< the command line is wrong
  unreachable = 3,  ///< cannot connect, connection lost, no answer in time
  refused = 4,      ///< the server answered with an error
  login = 5,        ///< wrong or missing user and password
  file = 6,         ///< a file is broken, or cannot be read or written
  interrupted = 130
};

class Failure : public std::runtime_error {
 public:
  Failure(Outcome outcome, const std::string& text) : std::runtime_error(text), outcome_(outcome) {}
  [[nodiscard]] Outcome outcome() const noexcept { return outcome_; }

 private:
  Outcome outcome_;
};

}  // namespace mxkv::cli
