// What the herald needs of a log beside its sources: that it is kept at all.
#pragma once

#include <cstdint>

namespace mxkv::server {

/// Thread-safety: the herald's thread, unless a function says otherwise.
class FeedSwitch {
 public:
  /// The time of a step that nobody needs before others wake the herald.
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};

  FeedSwitch() = default;
  FeedSwitch(const FeedSwitch&) = delete;
  FeedSwitch& operator=(const FeedSwitch&) = delete;

  /// Watches need the log from now on, or no more.
  virtual void want(bool wanted) = 0;
  /// Whether every change that takes effect from now on is in the log, behind the source's last epoch.
  [[nodiscard]] virtual bool is_on() const noexcept = 0;
  /// Goes on with switching, and closes an epoch if one is due. Returns whether there may be more to do at once.
  [[nodiscard]] virtual bool step(std::uint64_t now_ns) = 0;
  /// The latest time for the next step(); kNever: not before others wake the herald.
  [[nodiscard]] virtual std::uint64_t next_step_ns() const noexcept = 0;
  /// The epoch that a mark has to wait for: all that took effect before the call is in it or before it. The log closes
  /// it without delay. Any thread.
  [[nodiscard]] virtual std::uint64_t need_recorded() noexcept = 0;

 protected:
  ~FeedSwitch() = default;
};

}  // namespace mxkv::server
