// How long a worker's thread could run and had no CPU, by the system's account.
//
// Where workers share their CPUs with others, such as clients, a worker that sleeps is not run at once when
// something comes. By its idle clock it has nothing to do until then, and would be given more of what it does
// not get done. A system that does not tell has no such delay.
#pragma once

#include <atomic>
#include <cstdint>

namespace mxkv::server {

class RunDelay {
 public:
  RunDelay() = default;
  RunDelay(const RunDelay&) = delete;
  RunDelay& operator=(const RunDelay&) = delete;

  /// It is the calling thread's.
  void note_thread() noexcept;
  /// All of it so far; `before`, if that cannot be known. Any thread.
  [[nodiscard]] std::uint64_t sum_ns(std::uint64_t before) const noexcept;

 private:
  std::atomic<int> thread_{0};  // relaxed: a name; 0: none noted
};

}  // namespace mxkv::server
