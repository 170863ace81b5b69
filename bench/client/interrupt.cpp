#include "bench/client/interrupt.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <system_error>

namespace mxkv::bench {
namespace {

sigset_t ending_signals() noexcept {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

int blocked_signals() noexcept {
  const sigset_t set = ending_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  return ::signalfd(-1, &set, SFD_CLOEXEC);
}

Socket opened(int descriptor) {
  if (descriptor < 0) {
    throw std::system_error(errno, std::generic_category(), "descriptors for signals");
  }
  return Socket(descriptor);
}

void make_readable(const Socket& event) noexcept {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto bytes = ::write(event.descriptor(), &one, sizeof one);
}

/// Ends the process as if the signal had never been blocked.
void end_by(int signal) noexcept {
  std::signal(signal, SIG_DFL);
  const sigset_t set = ending_signals();
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  std::raise(signal);
}

}  // namespace

Interrupt::Interrupt()
    : signals_(opened(blocked_signals())),
      came_(opened(::eventfd(0, EFD_CLOEXEC))),
      end_(opened(::eventfd(0, EFD_CLOEXEC))),
      thread_([this] { wait(); }) {}

Interrupt::~Interrupt() {
  make_readable(end_);
  thread_.join();
}

void Interrupt::wait() {
  std::array<pollfd, 2> waits{pollfd{signals_.descriptor(), POLLIN, 0}, pollfd{end_.descriptor(), POLLIN, 0}};
  for (;;) {
    ::poll(waits.data(), waits.size(), -1);
    if (waits[1].revents != 0) {
      return;
    }
    signalfd_siginfo found{};
    if (::read(signals_.descriptor(), &found, sizeof found) != sizeof found) {
      continue;
    }
    const auto number = static_cast<int>(found.ssi_signo);
    if (signal() != 0) {
      end_by(number);
    }
    signal_.store(number, std::memory_order_relaxed);
    std::fputs("mxkv-ycsb: interrupted: waiting for the replies in flight; interrupt again to end at once\n",
               stderr);
    make_readable(came_);
  }
}

}  // namespace mxkv::bench
