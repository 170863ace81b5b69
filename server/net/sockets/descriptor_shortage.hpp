// What listeners do when the process has no descriptor left. A descriptor kept in reserve accepts clients,
// tells them the error and closes them, so that they do not stay in the backlog for ever. Such shortages are
// counted. The log has a line when a shortage begins and one when it ends, each at most every ten seconds.
#pragma once

#include <chrono>
#include <cstdint>

#include "runtime/base/clock.hpp"
#include "server/net/observe/net_counters.hpp"
#include "server/net/observe/warning_sink.hpp"
#include "server/net/sockets/descriptor_reserve.hpp"

namespace mxkv::server {

/// One for all listeners of a worker. Thread-safety: owner worker only.
class DescriptorShortage {
 public:
  /// All arguments outlive this.
  DescriptorShortage(const runtime::Clock& clock, ConnectionCounters& counters, WarningSink& log) noexcept
      : clock_(clock), counters_(counters), log_(log) {}
  ~DescriptorShortage() = default;
  DescriptorShortage(const DescriptorShortage&) = delete;
  DescriptorShortage& operator=(const DescriptorShortage&) = delete;

  /// Keeps a descriptor in reserve, unless it has one or there is none.
  void keep_reserve() noexcept { reserve_.refill(); }
  /// A listener could not accept a socket, because of `error`.
  void begin(int error);
  /// Accepts one connection of `listener` with the reserved descriptor. -1: no connection waits, or the
  /// reserve is gone. The caller closes the socket and then calls keep_reserve().
  [[nodiscard]] int accept(int listener) noexcept { return reserve_.accept(listener); }
  /// A descriptor is available again.
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
  bool told_ = false;                 ///< the log has a line for the beginning
  std::uint64_t begun_ns_ = 0;        ///< of the current shortage
  std::uint64_t told_ns_ = 0;         ///< when the log last had a line for a beginning; 0: never
  std::uint64_t refused_before_ = 0;  ///< clients refused before, as logged so far
};

}  // namespace mxkv::server
