// The state of the server: the results of /livez and /readyz, and the reasons.
//
// A server is alive if its administration thread answers, unless a worker has hung for long: only a restart helps then.
// A server is ready if it can serve another client. A server that refuses writes is overloaded and stays ready: it serves
// reads, and the deletes that make room. See Overloads. A node of a cluster is not ready before it has its shards' items,
// so that nodes are restarted one after the other.
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
    std::vector<std::string> overloads;  ///< the resources that ran out; empty: none
    bool takes_clients = true;           ///< no overload keeps it from serving another client
    std::string hangs;                   ///< a worker that has hung for long; empty: none
    double started_unix_s = 0;

    [[nodiscard]] bool alive() const noexcept { return hangs.empty(); }
    [[nodiscard]] bool ready() const noexcept { return now == serving::serves && takes_clients; }
    /// For people, in one or a few lines.
    [[nodiscard]] std::string text() const;
  };

  Health();
  [[nodiscard]] State state() const;
  void set(serving now);
  void set_recovery(const RecoveryProgress& progress);
  /// `takes_clients`: see State.
  void set_overloads(std::vector<std::string> overloads, bool takes_clients, std::string hangs);

 private:
  mutable std::mutex mutex_;  ///< guards state_
  State state_;
};

/// Finds the resources that ran out. Thread-safety: one thread.
class Overloads {
 public:
  using Time = std::chrono::steady_clock::time_point;
  /// A write that was refused for lack of memory counts as an overload for so long.
  static constexpr std::chrono::seconds kRefusalCounts{10};
  /// How often it looks at the workers. A worker hangs if it was running at two looks and ended no round in
  /// between.
  static constexpr std::chrono::seconds kLookAtWorkers{5};
  /// A worker that hangs for so long will not recover.
  static constexpr std::chrono::seconds kHangsForGood{60};

  struct Found {
    std::vector<std::string> overloads;
    bool takes_clients = true;  ///< no overload keeps it from serving another client
  };
  /// The overloads that last now. Call it about once a second.
  [[nodiscard]] Found look(const ServingParts& parts, Time now);
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
