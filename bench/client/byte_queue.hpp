// Bytes on their way from or to a socket: appended at the end, taken from the front, in one flat piece of
// memory, because parsing and sending need it flat. The remaining bytes are moved to the front only when room
// is needed.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace mxkv::bench {

/// Thread-safety: owner only.
class ByteQueue {
 public:
  explicit ByteQueue(std::size_t capacity_bytes) : memory_(capacity_bytes) {}

  /// The place for the next bytes, with room for at least `bytes`. Invalidates views.
  char* prepare(std::size_t bytes) {
    if (memory_.size() - end_ < bytes) {
      make_room(bytes);
    }
    return memory_.data() + end_;
  }
  /// How much can be written at prepare().
  [[nodiscard]] std::size_t room() const noexcept { return memory_.size() - end_; }
  /// Appends `bytes` bytes that were written at prepare().
  void commit(std::size_t bytes) noexcept { end_ += bytes; }

  [[nodiscard]] std::string_view view() const noexcept { return {memory_.data() + begin_, end_ - begin_}; }
  [[nodiscard]] bool empty() const noexcept { return begin_ == end_; }
  void consume(std::size_t bytes) noexcept {
    begin_ += bytes;
    if (begin_ == end_) {
      begin_ = end_ = 0;
    }
  }

 private:
  void make_room(std::size_t bytes);

  std::vector<char> memory_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace mxkv::bench
