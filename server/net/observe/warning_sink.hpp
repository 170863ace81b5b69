// Lines that net/ sends to the log: the seam between net/ and the daemon, which has the log.
#pragma once

#include <atomic>
#include <string>

namespace mxkv::server {

/// Thread-safety: any thread.
class WarningSink {
 public:
  WarningSink() = default;
  WarningSink(const WarningSink&) = delete;
  WarningSink& operator=(const WarningSink&) = delete;

  virtual void warn(const std::string& text) = 0;
  /// Lines for the levels debug and trace only. Check tells_debug() or tells_trace() before making the text.
  virtual void tell_debug(const std::string& /*text*/) {}
  virtual void tell_trace(const std::string& /*text*/) {}
  [[nodiscard]] bool tells_debug() const noexcept { return debug_.load(std::memory_order_relaxed); }
  [[nodiscard]] bool tells_trace() const noexcept { return trace_.load(std::memory_order_relaxed); }

 protected:
  ~WarningSink() = default;

  void set_detail(bool debug, bool trace) noexcept {
    debug_.store(debug, std::memory_order_relaxed);
    trace_.store(trace, std::memory_order_relaxed);
  }

 private:
  // Relaxed: a change of level may take effect a moment later.
  std::atomic<bool> debug_{false};
  std::atomic<bool> trace_{false};
};

}  // namespace mxkv::server
