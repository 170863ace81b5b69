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
// The worker sleeps in this set, too: wait() keeps what it was told for the next take(), so that a request
// that comes alone costs one wait, one read and one send. Everything else that ends a worker's sleep, such as
// a listening socket, is in the set with a bell.
#pragma once

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <limits>
#include <span>
#include <system_error>
#include <utility>

#include "runtime/base/assert.hpp"
#include "runtime/scheduler/poller.hpp"

namespace mxkv::server {

/// The news of a socket since it was last reported.
struct Readiness {
  bool input;    ///< there may be bytes, the end of input, or an error
  bool read_on;  ///< from now on a short read does not mean that the socket is empty
  bool output;   ///< it may take bytes, or has an error
  bool reset;    ///< it has an error: no reply reaches the other side
};

/// Rings when a descriptor that belongs to no `Owner` became ready. Who it is for looks, and silences it.
struct alignas(std::uint64_t) Bell {
  bool rings = false;
};

/// Thread-safety: owner worker only, except wake(). `Owner`: the object that a socket's events are for.
template <class Owner>
class SocketEvents {
 public:
  static constexpr std::size_t kMostAtOnce = 256;

  /// Throws std::system_error when the system has no descriptor left.
  SocketEvents()
      : set_(checked(::epoll_create1(EPOLL_CLOEXEC))), wake_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    if (wake_ < 0 || !control(EPOLL_CTL_ADD, wake_, 0, EPOLLIN | EPOLLET)) {
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
    return control(EPOLL_CTL_ADD, socket, word_of(owner), kInput);
  }
  /// Rings `bell` when `descriptor` becomes readable, until it is closed or removed; `more_events` as epoll(7)
  /// has them. `bell` must live as long. False: the system has no room.
  [[nodiscard]] bool add(int descriptor, Bell& bell, std::uint32_t more_events) noexcept {
    return control(EPOLL_CTL_ADD, descriptor, word_of(bell) | kIsBell, EPOLLIN | more_events);
  }
  /// Stops reporting. Another set that adds the socket reports it at once if it is ready by then.
  void remove(int socket) noexcept {
    [[maybe_unused]] const bool done = ::epoll_ctl(set_, EPOLL_CTL_DEL, socket, nullptr) == 0;
    MXKV_ASSERT(done, "a socket that was added stays until it is closed or removed");
  }
  /// Sets whether to report when the socket takes bytes. If it does so already, that is reported, too.
  void watch_output(int socket, Owner& owner, bool watched) noexcept {
    [[maybe_unused]] const bool done =
        control(EPOLL_CTL_MOD, socket, word_of(owner), watched ? kInput | EPOLLOUT : kInput);
    MXKV_ASSERT(done, "a socket that was added stays until it is closed");
  }

  /// Waits until take() has anything to report, wake() was called since the last take(), or `timeout_ns`
  /// passed. Sockets are closed or removed only after the take() that follows.
  void wait(std::uint64_t timeout_ns) noexcept {
    if (kept_ == 0) {
      kept_ = at_least_none(wait_for(timeout_ns));
    }
  }
  /// Calls tell(owner, readiness) for at most kMostAtOnce sockets that became ready; `tell` closes none. Rings
  /// bells. Returns whether there may be more. Does not wait.
  template <class F>
  [[nodiscard]] bool take(const F& tell) {
    const std::size_t count = kept_ > 0 ? std::exchange(kept_, 0) : at_least_none(poll());
    for (const epoll_event& event : std::span{events_}.first(count)) {
      const std::uint64_t word = event.data.u64;
      if ((word & kIsBell) != 0) {
        reinterpret_cast<Bell*>(word & ~kIsBell)->rings = true;
      } else if (word != 0) {  // otherwise it is wake()'s event, which has done its part
        const std::uint32_t bits = event.events;
        const bool over = (bits & (EPOLLERR | EPOLLHUP)) != 0;
        const bool read_on = over || (bits & (EPOLLRDHUP | EPOLLPRI)) != 0;
        tell(*reinterpret_cast<Owner*>(word), Readiness{.input = read_on || (bits & EPOLLIN) != 0,
                                                        .read_on = read_on,
                                                        .output = over || (bits & EPOLLOUT) != 0,
                                                        .reset = (bits & EPOLLERR) != 0});
      }
    }
    return count == events_.size();
  }

  /// Ends a wait() until the next take(). Any thread.
  void wake() noexcept {
    const std::uint64_t one = 1;  // never read: each write is an event
    [[maybe_unused]] const auto bytes = ::write(wake_, &one, sizeof one);
  }
  /// Readable while take() has anything to report; for a set that is part of another.
  [[nodiscard]] int descriptor() const noexcept { return set_; }

 private:
  static constexpr std::uint32_t kInput = EPOLLIN | EPOLLPRI | EPOLLRDHUP | EPOLLET;
  static constexpr std::uint64_t kIsBell = 1;  ///< mark in an event's word, which is an address

  static int checked(int descriptor) {
    if (descriptor < 0) {
      throw std::system_error(errno, std::generic_category(), "epoll for a worker's sockets");
    }
    return descriptor;
  }
  template <class T>
  static std::uint64_t word_of(T& object) noexcept {
    static_assert(alignof(T) > kIsBell, "the mark is no part of the address");
    return reinterpret_cast<std::uintptr_t>(&object);
  }
  static std::size_t at_least_none(int count) noexcept {
    return static_cast<std::size_t>(std::max(count, 0));
  }
  [[nodiscard]] bool control(int what, int descriptor, std::uint64_t word, std::uint32_t events) noexcept {
    epoll_event event{.events = events, .data = {.u64 = word}};
    return ::epoll_ctl(set_, what, descriptor, &event) == 0;
  }
  [[nodiscard]] int poll(int timeout_ms = 0) noexcept {
    return ::epoll_wait(set_, events_.data(), static_cast<int>(events_.size()), timeout_ms);
  }
  // Kernels before 5.11 wait for whole milliseconds only, and so does a container whose rules do not know the call.
  [[nodiscard]] int wait_for(std::uint64_t timeout_ns) noexcept {
    constexpr std::uint64_t kNsPerMs = 1'000'000;
    constexpr std::uint64_t kNsPerS = 1'000'000'000;
    if (timeout_ns == 0 || timeout_ns == runtime::Poller::kForever) {
      return poll(timeout_ns == 0 ? 0 : -1);
    }
    if (waits_by_ns_) {
      const timespec time{.tv_sec = static_cast<std::time_t>(timeout_ns / kNsPerS),
                          .tv_nsec = static_cast<long>(timeout_ns % kNsPerS)};
      const int count =
          ::epoll_pwait2(set_, events_.data(), static_cast<int>(events_.size()), &time, nullptr);
      if (count >= 0 || errno == EINTR) [[likely]] {
        return count;
      }
      waits_by_ns_ = false;
    }
    const std::uint64_t ms = timeout_ns / kNsPerMs + (timeout_ns % kNsPerMs != 0 ? 1 : 0);
    return poll(static_cast<int>(std::min<std::uint64_t>(ms, std::numeric_limits<int>::max())));
  }
  void close_all() noexcept {
    ::close(set_);
    if (wake_ >= 0) {
      ::close(wake_);
    }
  }

  int set_;
  int wake_;
  bool waits_by_ns_ = true;
  std::size_t kept_ = 0;  ///< of events_, told by wait() and not taken yet
  std::array<epoll_event, kMostAtOnce> events_;
};

}  // namespace mxkv::server
