// Reports which sockets of one worker became ready: a separate epoll set for each worker, and the event that
// wakes it.
//
// A socket is added once. It is reported when something comes, and not again because that is still there
// (EPOLLET): its owner remembers. So a turn costs no system calls but its read and its send; Asio's reactor
// would take one more to wait again. A level-triggered set would report each socket twice, the second time
// only to find it empty. It would also have to be changed at every pause, and a paused connection whose
// client left would keep its worker awake. This set reports that once.
//
// After a short read the socket is empty, with two exceptions: the end of input may have come with the bytes,
// and urgent data splits a read. No new event reports the bytes behind them, so the first event says that
// they exist (read_on). A socket's output is watched only while it is stuck, because a unix socket sends an
// event each time its client reads.
//
// Asio keeps the rest: listeners and timers. The worker sleeps in Asio's context, where descriptor() is one
// more wait.
#pragma once

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>
#include <system_error>

#include "runtime/base/assert.hpp"

namespace mxkv::server {

/// The news of a socket since it was last reported.
struct Readiness {
  bool input;    ///< there may be bytes, the end of input, or an error
  bool read_on;  ///< from now on a short read does not mean that the socket is empty
  bool output;   ///< it may take bytes, or has an error
  bool reset;    ///< it has an error: no reply reaches the other side
};

/// Thread-safety: owner worker only, except wake(). `Owner`: the object that a socket's events are for.
template <class Owner>
class SocketEvents {
 public:
  static constexpr std::size_t kMostAtOnce = 256;

  /// Throws std::system_error when the system has no descriptor left.
  SocketEvents()
      : set_(checked(::epoll_create1(EPOLL_CLOEXEC))), wake_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    epoll_event event{.events = EPOLLIN | EPOLLET, .data = {.ptr = nullptr}};
    if (wake_ < 0 || ::epoll_ctl(set_, EPOLL_CTL_ADD, wake_, &event) != 0) {
      const int error = errno;
      close_all();
      throw std::system_error(error, std::generic_category(), "descriptors for a worker's sockets");
    }
  }
  ~SocketEvents() { close_all(); }
  SocketEvents(const SocketEvents&) = delete;
  SocketEvents& operator=(const SocketEvents&) = delete;

  /// Reports events of the socket from now on, until it is closed or removed. `owner` must live as long.
  /// False: the system has no room.
  [[nodiscard]] bool add(int socket, Owner& owner) noexcept {
    return control(EPOLL_CTL_ADD, socket, owner, kInput);
  }
  /// Stops reporting. Another set that adds the socket reports it at once if it is ready by then.
  void remove(int socket) noexcept {
    [[maybe_unused]] const bool done = ::epoll_ctl(set_, EPOLL_CTL_DEL, socket, nullptr) == 0;
    MXKV_ASSERT(done, "a socket that was added stays until it is closed or removed");
  }
  /// Sets whether to report when the socket takes bytes. If it does so already, that is reported, too.
  void watch_output(int socket, Owner& owner, bool watched) noexcept {
    [[maybe_unused]] const bool done =
        control(EPOLL_CTL_MOD, socket, owner, watched ? kInput | EPOLLOUT : kInput);
    MXKV_ASSERT(done, "a socket that was added stays until it is closed");
  }

  /// Calls tell(owner, readiness) for at most kMostAtOnce sockets that became ready; `tell` closes none.
  /// Returns whether there may be more. Does not wait.
  template <class F>
  [[nodiscard]] bool take(const F& tell) {
    const int count = ::epoll_wait(set_, events_.data(), static_cast<int>(events_.size()), 0);
    for (const epoll_event& event :
         std::span{events_}.first(static_cast<std::size_t>(count < 0 ? 0 : count))) {
      if (event.data.ptr != nullptr) {  // otherwise it is wake()'s event, which has done its part
        const std::uint32_t bits = event.events;
        const bool over = (bits & (EPOLLERR | EPOLLHUP)) != 0;
        const bool read_on = over || (bits & (EPOLLRDHUP | EPOLLPRI)) != 0;
        tell(*static_cast<Owner*>(event.data.ptr), Readiness{.input = read_on || (bits & EPOLLIN) != 0,
                                                             .read_on = read_on,
                                                             .output = over || (bits & EPOLLOUT) != 0,
                                                             .reset = (bits & EPOLLERR) != 0});
      }
    }
    return count == static_cast<int>(events_.size());
  }

  /// Makes descriptor() readable until the next take(). Any thread.
  void wake() noexcept {
    const std::uint64_t one = 1;  // never read: each write is an event
    [[maybe_unused]] const auto bytes = ::write(wake_, &one, sizeof one);
  }
  /// Readable while take() has anything to report.
  [[nodiscard]] int descriptor() const noexcept { return set_; }

 private:
  static constexpr std::uint32_t kInput = EPOLLIN | EPOLLPRI | EPOLLRDHUP | EPOLLET;

  static int checked(int descriptor) {
    if (descriptor < 0) {
      throw std::system_error(errno, std::generic_category(), "epoll for a worker's sockets");
    }
    return descriptor;
  }
  [[nodiscard]] bool control(int what, int socket, Owner& owner, std::uint32_t events) noexcept {
    epoll_event event{.events = events, .data = {.ptr = &owner}};
    return ::epoll_ctl(set_, what, socket, &event) == 0;
  }
  void close_all() noexcept {
    ::close(set_);
    if (wake_ >= 0) {
      ::close(wake_);
    }
  }

  int set_;
  int wake_;
  std::array<epoll_event, kMostAtOnce> events_;
};

}  // namespace mxkv::server
