#include "server/daemon/signals.hpp"

#include <pthread.h>

namespace mxkv::server {

TerminationSignals::TerminationSignals() {
  sigemptyset(&signals_);
  sigaddset(&signals_, SIGTERM);
  sigaddset(&signals_, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

int TerminationSignals::wait() const {
  for (;;) {
    if (const int signal = sigwaitinfo(&signals_, nullptr); signal > 0) {
      return signal;
    }
  }
}

std::optional<int> TerminationSignals::wait_for(std::chrono::milliseconds time) const {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time);
  const timespec most{seconds.count(), std::chrono::nanoseconds{time - seconds}.count()};
  const int signal = sigtimedwait(&signals_, nullptr, &most);
  return signal > 0 ? std::optional{signal} : std::nullopt;
}

}  // namespace mxkv::server
