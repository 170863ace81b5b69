// The thread `mxkv-herald`: calls step() when woken and when the time has come.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

#include "runtime/base/clock.hpp"

namespace mxkv::server {

/// Thread-safety: wake() any thread; the rest one thread.
class HeraldThread {
 public:
  /// `step` gets the time and returns when to call it again. Runs until stop().
  HeraldThread(const runtime::Clock& clock, std::function<std::uint64_t(std::uint64_t now_ns)> step);
  ~HeraldThread() { stop(); }
  HeraldThread(const HeraldThread&) = delete;
  HeraldThread& operator=(const HeraldThread&) = delete;

  void start();
  void stop();
  /// Calls step() soon, once for several calls.
  void wake() noexcept;

 private:
  void run();

  const runtime::Clock& clock_;
  const std::function<std::uint64_t(std::uint64_t)> step_;
  std::thread thread_;
  // Release by wake() for what the waker did before; the acquire in run() pairs with it.
  std::atomic<bool> woken_{false};
  std::mutex mutex_;  ///< guards ends_; orders wake() with the wait
  std::condition_variable bell_;
  bool ends_ = false;
};

}  // namespace mxkv::server
