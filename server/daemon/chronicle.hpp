// Makes lines for the log of what happens while the server runs. A kind of happening is a line a second at most;
// eviction is told when it begins and when it ends, for who debugs also second by second.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/store/happenings.hpp"

namespace mxkv::server {

/// Thread-safety: one thread.
class Chronicle {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::seconds kEvery{1};
  /// Without one for so long, eviction has ended.
  static constexpr std::chrono::seconds kEvictionRests{10};

  struct Line {
    enum class level : std::uint8_t { debug, info, warning };
    level how = level::info;
    std::string text;
  };
  /// What lines tell besides.
  struct Facts {
    std::uint64_t connections_most = 0;
    std::uint64_t connections_per_client = 0;
    std::uint64_t memory_used = 0;
    std::uint64_t memory_most = 0;
  };

  /// The lines that are due. Looks at `happenings` once a second at most.
  [[nodiscard]] std::vector<Line> tell(Time now, Happenings& happenings, const Facts& facts);
  /// How long until there may be more to tell, though nobody rings; nothing: until somebody does.
  [[nodiscard]] std::optional<std::chrono::nanoseconds> next(Time now, const Happenings& happenings) const;

 private:
  void tell_of_eviction(Time now, std::uint64_t evicted, const Facts& facts, std::vector<Line>& lines);

  std::optional<Time> told_;
  std::optional<Time> eviction_began_;
  Time last_eviction_{};
  std::uint64_t evicted_ = 0;
};

}  // namespace mxkv::server
