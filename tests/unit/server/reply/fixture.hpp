// Memory for replies without a runtime, and the bytes that the client would have received.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "runtime/memory/memory_budget.hpp"
#include "server/reply/block_pool.hpp"
#include "server/reply/reply_queue.hpp"

namespace mxkv::server::test {

struct Memory {
  runtime::MemoryBudget budget{runtime::MemoryBudget::kUnlimited, 1};
  BlockPool pool{budget, budget.account(runtime::WorkerId{0})};
};

/// Sends all output, `most` bytes at a time.
inline std::string drain(OutputBuffer& output, std::size_t most = 1 << 20) {
  std::string sent;
  std::array<iovec, 3> pieces;
  while (const std::size_t count = output.gather(pieces)) {
    std::string part;
    for (std::size_t i = 0; i < count; ++i) {
      part.append(static_cast<const char*>(pieces[i].iov_base), pieces[i].iov_len);
    }
    part.resize(std::min(part.size(), most));
    output.consume(part.size());
    sent += part;
  }
  return sent;
}

/// Counts how often its bytes were released.
struct Owned {
  std::string bytes;
  int released = 0;
  [[nodiscard]] OwnerRef ref() {
    return {this, nullptr, [](void*, void* object) noexcept { ++static_cast<Owned*>(object)->released; }};
  }
};

}  // namespace mxkv::server::test
