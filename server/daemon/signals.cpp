#include "server/daemon/signals.hpp"

#include <pthread.h>

#include <algorithm>

namespace mxkv::server {

namespace {

/// No other program sends SIGUSR2: by default it would end the process.
constexpr int kWake = SIGUSR2;

bool is_ignored(int signal) {
  struct sigaction action{};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

std::string_view Signal::name() const noexcept {
  switch (number) {
    case SIGTERM:
      return "SIGTERM";
    case SIGINT:
      return "SIGINT";
    case SIGUSR1:
      return "SIGUSR1";
    default:
      return from_terminal ? "SIGHUP (the terminal is gone)" : "SIGHUP";
  }
}

Signals::Signals() : main_(pthread_self()), hangup_ignored_(is_ignored(SIGHUP)) {
  sigemptyset(&signals_);
  for (const int signal : {SIGTERM, SIGINT, SIGUSR1, SIGHUP, kWake}) {
    sigaddset(&signals_, signal);
  }
  pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

std::optional<Signal> Signals::wait(std::optional<std::chrono::nanoseconds> most) const {
  siginfo_t info{};
  int number = 0;
  if (most) {
    const std::chrono::nanoseconds time = std::max(*most, std::chrono::nanoseconds{0});
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time);
    const timespec limit{seconds.count(), (time - seconds).count()};
    number = sigtimedwait(&signals_, &info, &limit);
  } else {
    number = sigwaitinfo(&signals_, &info);
  }
  if (number <= 0 || number == kWake) {
    return std::nullopt;
  }
  const Signal signal{.number = number, .from_terminal = info.si_code == SI_KERNEL};
  if (number == SIGHUP && signal.from_terminal && hangup_ignored_) {
    return std::nullopt;  // the user who started the daemon wants it to outlive the terminal
  }
  return signal;
}

void Signals::wake() const noexcept {
  pthread_kill(main_, kWake);
}

}  // namespace mxkv::server
