// Descriptors kept open in reserve, so that a listener can accept clients when the process has run out of
// descriptors.
//
// Without one, a client that cannot be accepted stays in the backlog for ever and hears nothing. Another thread may take
// a descriptor in the moment between the two system calls of accept(): the caller then tries again later.
#pragma once

#include <cstddef>
#include <vector>

namespace mxkv::server {

/// Thread-safety: one thread.
class DescriptorReserve {
 public:
  /// `most`: how many descriptors it keeps. It has none before refill().
  explicit DescriptorReserve(std::size_t most) noexcept : most_(most) {}
  ~DescriptorReserve();
  DescriptorReserve(const DescriptorReserve&) = delete;
  DescriptorReserve& operator=(const DescriptorReserve&) = delete;

  /// Takes the descriptors that are missing, as far as there are any. Call it after a socket was closed.
  void refill() noexcept;
  /// Gives up one descriptor, and accepts a connection of `listener` in its place. -1: no connection waits, or there is
  /// no descriptor; errno says which.
  [[nodiscard]] int accept(int listener) noexcept;

 private:
  std::size_t most_;
  std::vector<int> kept_;
};

}  // namespace mxkv::server
