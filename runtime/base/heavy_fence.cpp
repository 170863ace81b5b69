#include "runtime/base/heavy_fence.hpp"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace mxkv::runtime {

namespace {

long membarrier(int command) noexcept {
  return syscall(SYS_membarrier, command, 0U, 0);
}

bool register_membarrier() noexcept {
  const long supported = membarrier(MEMBARRIER_CMD_QUERY);
  return supported >= 0 && (supported & MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0 &&
         membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0;
}

}  // namespace

const bool detail::membarrier_available = register_membarrier();

void heavy_fence() noexcept {
  if (detail::membarrier_available) {
    membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
  }
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

}  // namespace mxkv::runtime
