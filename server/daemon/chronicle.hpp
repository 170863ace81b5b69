// Composes the log lines about happenings while the server runs: at most one line a second for each kind. The
// begin and the end of eviction are logged; at level debug, also every second between.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/options.hpp"
#include "server/daemon/log_text.hpp"
#include "server/store/happenings.hpp"

namespace mxkv::server {

/// Thread-safety: one thread.
class Chronicle {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::seconds kEvery{1};
  /// After so long without an eviction, it has ended.
  static constexpr std::chrono::seconds kEvictionRests{10};

  struct Line {
    config::log_level how = config::log_level::info;
    std::string text;
    LogEvent event{};
  };
  /// Further numbers for the lines.
  struct Facts {
    std::uint64_t connections_most = 0;
    std::uint64_t connections_per_client = 0;
    std::uint64_t memory_used = 0;
    std::uint64_t memory_most = 0;
  };

  /// The lines that are due. Takes `happenings` at most once a second.
  [[nodiscard]] std::vector<Line> tell(Time now, Happenings& happenings, const Facts& facts);
  /// When to call tell() again, even without a ring; nothing: not before the next ring.
  [[nodiscard]] std::optional<std::chrono::nanoseconds> next(Time now, const Happenings& happenings) const;

 private:
  void tell_of_eviction(Time now, std::uint64_t evicted, const Facts& facts, std::vector<Line>& lines);

  std::optional<Time> told_;
  std::optional<Time> eviction_began_;
  Time last_eviction_{};
  std::uint64_t evicted_ = 0;
};

}  // namespace mxkv::server
