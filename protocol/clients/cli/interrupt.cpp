#include "protocol/clients/cli/interrupt.hpp"

#include <unistd.h>

#include <csignal>

#include "protocol/clients/cli/failure.hpp"

namespace mxkv::cli {
namespace {

volatile std::sig_atomic_t interrupt_seen = 0;

void note_interrupt(int) {
  interrupt_seen = 1;
}

}  // namespace

void catch_interrupts() {
  struct sigaction action{};
  action.sa_handler = note_interrupt;
  ::sigemptyset(&action.sa_mask);
  action.sa_flags = 0;  // no SA_RESTART: a blocked system call returns
  ::sigaction(SIGINT, &action, nullptr);
  action.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &action, nullptr);
}

bool interrupted() noexcept {
  return interrupt_seen != 0;
}

void forget_interrupt() noexcept {
  interrupt_seen = 0;
}

void check_interrupt() {
  if (interrupted()) {
    throw Failure(Outcome::interrupted, "interrupted");
  }
}

void end_by_closed_pipe() {
  ::signal(SIGPIPE, SIG_DFL);
  ::raise(SIGPIPE);
  ::_exit(128 + SIGPIPE);
}

}  // namespace mxkv::cli
