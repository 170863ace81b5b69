// What listeners do when the process is out of descriptors. A descriptor that is kept in reserve accepts
// clients, tells them, and closes them, instead of leaving them in the backlog for ever. Such shortages are
// counted. The log has a line when one begins and one when it is over, both at most every ten seconds.
#pragma once

#include <chrono>
#include <cstdint>

#include "runtime/base/clock.hpp"
#include "server/net/descriptor_reserve.hpp"
#include "server/net/net_counters.hpp"
#include "server/net/warning_sink.hpp"

namespace mxkv::server {

/// Of all listeners of a worker. Thread-safety: owner worker only.
class DescriptorShortage {
 public:
  /// All outlive this.
  DescriptorShortage(const runtime::Clock& clock, ConnectionCounters& counters, WarningSink& log) noexcept
      : clock_(clock), counters_(counters), log_(log) {}
  ~DescriptorShortage() = default;
  DescriptorShortage(const DescriptorShortage&) = delete;
  DescriptorShortage& operator=(const DescriptorShortage&) = delete;

  /// Keeps a descriptor in reserve, if there is one and it has none yet.
  void keep_reserve() noexcept { reserve_.refill(); }
  /// A socket could not be accepted, because of `error`.
  void begin(int error);
  /// Accepts one connection of `listener` with the reserve. -1: none waits, or the reserve is gone. The socket
  /// is to be closed, and then keep_reserve() called.
  [[nodiscard]] int accept(int listener) noexcept { return reserve_.accept(listener); }
  /// There is a descriptor again.
  void end() {
    if (lasts_) [[unlikely]] {
      note_end();
    }
  }
  [[nodiscard]] bool lasts() const noexcept { return lasts_; }

 private:
  void note_end();

  const runtime::Clock& clock_;
  ConnectionCounters& counters_;
  WarningSink& log_;
  DescriptorReserve reserve_{1};
  bool lasts_ = false;
  bool told_ = false;                 ///< that it began
  std::uint64_t begun_ns_ = 0;        ///< the one that lasts
  std::uint64_t told_ns_ = 0;         ///< the last line that one began; 0: none yet
  std::uint64_t refused_before_ = 0;  ///< in shortages that are told, as the lines add up
};

}  // namespace mxkv::server
