// Which sockets of one worker became ready: an epoll set of the worker's own, and what wakes its sleep.
//
// A socket is added once and is told of when something comes, and not again because it is still there
// (EPOLLET): its owner remembers. So a turn costs no system call but its read and its send, where Asio's
// reactor would take one more to wait again. A set that tells of what is there until it is gone would ask each
// socket twice, when it tells and when it finds it empty; it would have to be told of every pause, and a
// paused connection whose client left would keep its worker awake. This one tells of that once.
//
// A read that is short found all that there was, with two exceptions: the end of input may have come with the
// bytes, and urgent data part a read. Nothing is told of what is behind them again, so an event says that there
// are such. A socket is asked about output only while that is stuck: a unix socket tells each time its client
// has read something.
//
// Asio keeps what is not each request's: listeners, timers. The worker sleeps in Asio's context, in which
// descriptor() is one more wait.
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

/// What became of a socket since it was told of last.
struct Readiness {
  bool input;    ///< there may be bytes, or the end of them, or an error
  bool read_on;  ///< a read that is short does not mean that there is no more, from now on
  bool output;   ///< it may take bytes, or has an error
  bool reset;    ///< it has an error: nothing that is sent reaches the other side
};

/// Thread-safety: owner worker only, but for wake(). `Owner`: whom an event of a socket is for.
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

  /// Tells of a socket from now on, until it is closed or removed: `owner` stays as long. False: the system has no room.
  [[nodiscard]] bool add(int socket, Owner& owner) noexcept {
    return control(EPOLL_CTL_ADD, socket, owner, kInput);
  }
  /// Tells of it no more: another set will, at once of what is there by then.
  void remove(int socket) noexcept {
    [[maybe_unused]] const bool done = ::epoll_ctl(set_, EPOLL_CTL_DEL, socket, nullptr) == 0;
    MXKV_ASSERT(done, "a socket that was added stays until it is closed or removed");
  }
  /// Whether to tell when the socket takes bytes; if it does so already, that is told, too.
  void watch_output(int socket, Owner& owner, bool watched) noexcept {
    [[maybe_unused]] const bool done =
        control(EPOLL_CTL_MOD, socket, owner, watched ? kInput | EPOLLOUT : kInput);
    MXKV_ASSERT(done, "a socket that was added stays until it is closed");
  }

  /// Calls tell(owner, readiness) for sockets that became ready, kMostAtOnce of them at most; it closes none.
  /// Returns whether there may be more. Does not wait.
  template <class F>
  [[nodiscard]] bool take(const F& tell) {
    const int count = ::epoll_wait(set_, events_.data(), static_cast<int>(events_.size()), 0);
    for (const epoll_event& event :
         std::span{events_}.first(static_cast<std::size_t>(count < 0 ? 0 : count))) {
      if (event.data.ptr != nullptr) {  // else that of wake(), which has done its part
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
  /// Readable while take() has anything to tell.
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
