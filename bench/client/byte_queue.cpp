#include "bench/client/byte_queue.hpp"

#include <algorithm>
#include <cstring>

namespace mxkv::bench {

void ByteQueue::make_room(std::size_t bytes) {
  const std::size_t used = end_ - begin_;
  std::memmove(memory_.data(), memory_.data() + begin_, used);
  begin_ = 0;
  end_ = used;
  if (memory_.size() - end_ < bytes) {
    memory_.resize(std::max(memory_.size() * 2, end_ + bytes));
  }
}

}  // namespace mxkv::bench
