#include "server/feed/herald_thread.hpp"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "runtime/base/assert.hpp"

namespace mxkv::server {

HeraldThread::HeraldThread(const runtime::Clock& clock,
                           std::function<std::uint64_t(std::uint64_t now_ns)> step)
    : clock_(clock), step_(std::move(step)) {}

void HeraldThread::start() {
  MXKV_ASSERT(!thread_.joinable(), "the thread is started once");
  thread_ = std::thread([this] { run(); });
}

void HeraldThread::stop() {
  if (!thread_.joinable()) {
    return;
  }
  {
    const std::scoped_lock lock{mutex_};
    ends_ = true;
  }
  bell_.notify_one();
  thread_.join();
}

void HeraldThread::wake() noexcept {
  if (woken_.exchange(true, std::memory_order_acq_rel)) {
    return;
  }
  {
    const std::scoped_lock lock{mutex_};  // the thread is before its look at woken_, or it waits
  }
  bell_.notify_one();
}

void HeraldThread::run() {
  pthread_setname_np(pthread_self(), "mxkv-herald");
  constexpr std::uint64_t kNever = ~std::uint64_t{0};
  for (;;) {
    woken_.exchange(false, std::memory_order_acq_rel);
    const std::uint64_t now_ns = clock_.monotonic_ns();
    const std::uint64_t next_ns = step_(now_ns);
    const auto woken = [this] { return ends_ || woken_.load(std::memory_order_acquire); };
    std::unique_lock lock{mutex_};
    if (next_ns == kNever) {
      bell_.wait(lock, woken);
    } else {
      bell_.wait_for(lock, std::chrono::nanoseconds{next_ns - std::min(next_ns, now_ns)}, woken);
    }
    if (ends_) {
      return;
    }
  }
}

}  // namespace mxkv::server
