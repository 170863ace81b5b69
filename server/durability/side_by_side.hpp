// Runs start-up work on several threads, while the calling thread reports the progress.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace mxkv::server {

/// Calls work(i) for i below `threads`, each on its own thread, and `tick` now and then on this one. Rethrows
/// a thread's exception here when all threads have ended; also throws if the system refuses a thread.
template <class Work, class Tick>
void side_by_side(std::size_t threads, const Work& work, const Tick& tick) {
  constexpr std::chrono::milliseconds kTick{200};
  std::mutex mutex;
  std::condition_variable ended;
  std::size_t running = 0;
  std::exception_ptr thrown;
  std::vector<std::jthread> all;
  all.reserve(threads);
  for (std::size_t i = 0; i < threads; ++i) {
    {
      const std::scoped_lock lock{mutex};
      ++running;
    }
    all.emplace_back([&, i] {
      std::exception_ptr mine;
      try {
        work(i);
      } catch (...) {
        mine = std::current_exception();
      }
      const std::scoped_lock lock{mutex};
      thrown = thrown ? thrown : mine;
      --running;
      ended.notify_one();
    });
  }
  {
    std::unique_lock lock{mutex};
    while (!ended.wait_for(lock, kTick, [&] { return running == 0; })) {
      lock.unlock();
      tick();
      lock.lock();
    }
  }
  all.clear();
  if (thrown) {
    std::rethrow_exception(thrown);
  }
}

/// Hands out numbers below a count, each once. Thread-safety: any thread.
class Turns {
 public:
  explicit Turns(std::size_t count) noexcept : count_(count) {}
  /// False: there are no more numbers.
  bool next(std::size_t& out) noexcept {
    out = next_.fetch_add(1, std::memory_order_relaxed);  // the begin and end of the threads publish the work
    return out < count_;
  }

 private:
  std::size_t count_;
  std::atomic<std::size_t> next_{0};
};

}  // namespace mxkv::server
