// How the server is: what /livez and /readyz say, and why.
//
// Alive is a server whose thread for administration answers, unless a worker has hung for long: nothing but a new start
// helps then. Ready is one that serves and has room. It is not while it starts, recovers or ends, and not while
// something has come to its end that clients would run into: see Overloads. A node of a cluster is not ready before it
// has its shards' items, so that nodes are restarted one after the other.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/admin/serving_parts.hpp"
#include "server/admin/watchdog.hpp"

namespace mxkv::server {

enum class serving : std::uint8_t { starting, recovering, serves, draining };
[[nodiscard]] std::string_view name_of(serving state) noexcept;

/// Thread-safety: any thread.
class Health {
 public:
  struct State {
    serving now = serving::starting;
    double recovered = 0;  ///< part of the recovery that is done
    std::uint64_t recovered_items = 0;
    double seconds_left = 0;             ///< of the recovery
    std::vector<std::string> overloads;  ///< what has come to its end; empty: nothing
    std::string hangs;                   ///< a worker that has hung for long; empty: none
    double started_unix_s = 0;

    [[nodiscard]] bool alive() const noexcept { return hangs.empty(); }
    [[nodiscard]] bool ready() const noexcept { return now == serving::serves && overloads.empty(); }
    /// For a person, in a line or a few.
    [[nodiscard]] std::string text() const;
  };

  Health();
  [[nodiscard]] State state() const;
  void set(serving now);
  void set_recovery(const RecoveryProgress& progress);
  void set_overloads(std::vector<std::string> overloads, std::string hangs);

 private:
  mutable std::mutex mutex_;  ///< guards state_
  State state_;
};

/// Looks what has come to its end. Thread-safety: one thread.
class Overloads {
 public:
  using Time = std::chrono::steady_clock::time_point;
  /// A write that was refused for lack of memory counts for so long.
  static constexpr std::chrono::seconds kRefusalCounts{10};
  /// Between two looks at workers: one that was at work at both and ended no round hangs.
  static constexpr std::chrono::seconds kLookAtWorkers{5};
  /// A worker that hangs for so long does not come back.
  static constexpr std::chrono::seconds kHangsForGood{60};

  /// What is wrong now. To be called about once a second.
  [[nodiscard]] std::vector<std::string> look(const ServingParts& parts, Time now);
  /// The worker that hangs for good; empty: none.
  [[nodiscard]] std::string hangs_for_good(Time now) const;

 private:
  static void look_at_cluster(const ServingParts& parts, std::vector<std::string>& found);
  void look_at_workers(const ServingParts& parts, Time now);

  std::uint64_t refused_ = 0;  ///< writes, for lack of memory
  std::optional<Time> refused_at_;
  WorkerRounds rounds_;
  std::optional<Time> looked_at_;
  std::optional<Time> hangs_since_;
  std::string hanging_;
};

}  // namespace mxkv::server
