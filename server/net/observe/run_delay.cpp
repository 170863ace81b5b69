#include "server/net/observe/run_delay.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdio>

namespace mxkv::server {

void RunDelay::note_thread() noexcept {
  if (thread_.load(std::memory_order_relaxed) == 0) {
    thread_.store(::gettid(), std::memory_order_relaxed);
  }
}

// Reads the second number of the file. Opens it each time, because descriptors are for clients.
std::uint64_t RunDelay::sum_ns(std::uint64_t before) const noexcept {
  const int thread = thread_.load(std::memory_order_relaxed);
  if (thread == 0) {
    return before;
  }
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "/proc/self/task/%d/schedstat", thread);
  const int file = ::open(text.data(), O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    return before;
  }
  const ssize_t bytes = ::read(file, text.data(), text.size());
  ::close(file);
  const char* const end = text.data() + (bytes < 0 ? 0 : bytes);
  std::uint64_t ran = 0;
  const auto [space, error] = std::from_chars(text.data(), end, ran);
  if (error != std::errc{} || space == end) {
    return before;
  }
  std::uint64_t delay = 0;
  return std::from_chars(space + 1, end, delay).ec == std::errc{} ? delay : before;
}

}  // namespace mxkv::server
