#include "runtime/scheduler/event_poller.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <system_error>

namespace mxkv::runtime {

EventPoller::EventPoller() : descriptor_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (descriptor_ < 0) {
    throw std::system_error(errno, std::generic_category(), "eventfd for a worker's wake-ups");
  }
}

EventPoller::~EventPoller() {
  close(descriptor_);
}

void EventPoller::block(Worker& /*worker*/, std::uint64_t timeout_ns) {
  pollfd waited{descriptor_, POLLIN, 0};
  constexpr std::uint64_t kNsPerMs = 1'000'000;
  const std::uint64_t ms = timeout_ns / kNsPerMs + 1;
  const int timeout = timeout_ns == kForever
                          ? -1
                          : static_cast<int>(std::min<std::uint64_t>(ms, std::numeric_limits<int>::max()));
  if (::poll(&waited, 1, timeout) > 0) {
    std::uint64_t wakes = 0;
    [[maybe_unused]] const auto bytes = read(descriptor_, &wakes, sizeof wakes);
  }
}

void EventPoller::wake() noexcept {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto bytes = write(descriptor_, &one, sizeof one);
}

}  // namespace mxkv::runtime
