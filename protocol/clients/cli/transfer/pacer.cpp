#include "protocol/clients/cli/transfer/pacer.hpp"

#include <algorithm>
#include <thread>

#include "protocol/clients/cli/interrupt.hpp"

namespace mxkv::cli {

void Pacer::wait_until_due(std::uint64_t done) const {
  if (rate_ <= 0) {
    return;
  }
  const std::chrono::duration<double> due(static_cast<double>(done) / rate_);
  for (;;) {
    check_interrupt();
    const std::chrono::duration<double> left = due - (std::chrono::steady_clock::now() - begin_);
    if (left.count() <= 0) {
      return;
    }
    std::this_thread::sleep_for(std::min(left, std::chrono::duration<double>(0.1)));
  }
}

}  // namespace mxkv::cli
