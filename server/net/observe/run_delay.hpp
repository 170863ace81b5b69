// How long a worker's thread was runnable but had no CPU, by the system's accounting.
//
// If workers share their CPUs with other processes, such as clients, a worker is not run at once when an
// event wakes it. Until then its idle clock counts that time as idle, and the worker would be given even more
// of the work that it cannot finish. On a system without that accounting the delay is unknown.
#pragma once

#include <atomic>
#include <cstdint>

namespace mxkv::server {

class RunDelay {
 public:
  RunDelay() = default;
  RunDelay(const RunDelay&) = delete;
  RunDelay& operator=(const RunDelay&) = delete;

  /// The calling thread is the worker's.
  void note_thread() noexcept;
  /// The delay so far, in ns; `before` if it cannot be read. Any thread.
  [[nodiscard]] std::uint64_t sum_ns(std::uint64_t before) const noexcept;

 private:
  std::atomic<int> thread_{0};  // relaxed: only the thread's number; 0: not noted
};

}  // namespace mxkv::server
