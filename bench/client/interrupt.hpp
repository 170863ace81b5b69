// SIGINT and SIGTERM end a run early, not at once: no more requests are made, the replies of those that are
// out are waited for, and what was measured until then is told and written. A second signal ends the process
// as it would have.
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
  std::atomic<int> signal_{
      0};  // relaxed: those that are woken by came_ look again, nothing else is ordered by it
  std::thread thread_;
};

}  // namespace mxkv::bench
