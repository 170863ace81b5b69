// Ctrl-C: ends what runs, not the shell around it.
//
// A signal handler reaches nothing but a global word; it is hidden here. Everything that waits asks
// check_interrupt() when a system call was cut short.
#pragma once

namespace mxkv::cli {

/// From now on SIGINT sets a mark instead of ending the process, and SIGPIPE does nothing. Main thread, once.
void catch_interrupts();
/// Whether SIGINT came since forget_interrupt().
[[nodiscard]] bool interrupted() noexcept;
void forget_interrupt() noexcept;
/// Throws Failure (Outcome::interrupted) after SIGINT.
void check_interrupt();

}  // namespace mxkv::cli
