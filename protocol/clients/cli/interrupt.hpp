// Ctrl-C: ends the running command, not the shell around it.
//
// A signal handler can only reach a global variable, which is hidden here. A function that waits calls
// check_interrupt() when a system call was interrupted.
#pragma once

namespace mxkv::cli {

/// From now on SIGINT sets a mark instead of ending the process, and SIGPIPE does nothing. Main thread, once.
void catch_interrupts();
/// Whether SIGINT came since forget_interrupt().
[[nodiscard]] bool interrupted() noexcept;
void forget_interrupt() noexcept;
/// Throws Failure (Outcome::interrupted) after SIGINT.
void check_interrupt();
/// Ends the process without a word, by SIGPIPE, as programs in a pipeline do when nobody reads their output any more.
[[noreturn]] void end_by_closed_pipe();

}  // namespace mxkv::cli
