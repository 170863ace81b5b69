// SIGINT and SIGTERM end a run early, but not at once: the client makes no more requests, waits for the
// outstanding replies, and prints and writes the results until then. A second signal ends the process as
// usual.
#pragma once

#include <atomic>
#include <thread>

#include "bench/client/socket.hpp"

namespace mxkv::bench {

class Interrupt {
 public:
  /// Blocks the signals for this thread and those that it starts from here on. One in a process. Throws
  /// std::system_error.
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  /// The signal that came, or 0. Any thread.
  [[nodiscard]] int signal() const noexcept { return signal_.load(std::memory_order_relaxed); }
  /// Becomes readable when one has come, and stays so; never to be read. Any thread.
  [[nodiscard]] int descriptor() const noexcept { return came_.descriptor(); }

 private:
  void wait();

  Socket signals_;  // Sockets only for their closing
  Socket came_;
  Socket end_;
  std::atomic<int> signal_{0};  // relaxed: threads woken by came_ look again, and it orders no other data
  std::thread thread_;
};

}  // namespace mxkv::bench
