// Answers `stats`: with memcached's names, so that exporters work, and with groups of its own.
//
// Numbers are sums of counters that workers change meanwhile: each is right for some recent moment, and they
// may not fit each other. `stats reset` remembers the counters of that moment and subtracts them later; it
// changes no other counters.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/options.hpp"
#include "runtime/memory/page_census.hpp"
#include "runtime/scheduler/runtime.hpp"
#include "server/net/session/admin_source.hpp"
#include "server/net/users/credentials.hpp"
#include "server/net/worker/network.hpp"
#include "server/stats/observed_stats.hpp"
#include "server/store/store.hpp"

namespace mxkv::server {

class ClusterNode;
class ClusterStore;
class Durability;
class Feed;
class StatText;

/// Thread-safety: any thread.
class Statistics {
 public:
  /// All arguments outlive this.
  Statistics(runtime::Runtime& runtime, Store& store, const config::DaemonOptions& options,
             const Credentials& credentials);

  /// Start-up only.
  void set_network(Network& network) noexcept { network_ = &network; }

  /// Open listeners with their actual ports; before clients can connect. Start-up only.
  void set_listeners(std::vector<config::ListenAddress> listeners) { listeners_ = std::move(listeners); }

  /// Null: there is no journal.
  void set_durability(const Durability* durability) noexcept { durability_ = durability; }

  /// Null: no range can be watched.
  void set_feed(const Feed* feed) noexcept { feed_ = feed; }

  /// Null: there is no cluster.
  void set_cluster(const ClusterNode* cluster, const ClusterStore* routed) noexcept {
    cluster_ = cluster;
    routed_ = routed;
  }

  /// For `stats settings`.
  void note_verbosity(std::uint64_t level) noexcept { verbosity_.store(level, std::memory_order_relaxed); }

  void note_shutdown_command(bool allowed) noexcept {
    shutdown_command_.store(allowed, std::memory_order_relaxed);
  }

  /// A page of the reply to `stats <group>`; only `conns` has more than one.
  [[nodiscard]] std::string text(std::string_view group, AdminCursor& cursor);

  /// Counters that `stats reset` puts back to zero.
  struct Counters {
    std::array<std::uint64_t, kCounters> store{};
    NetStats net;
    std::uint64_t auth_commands = 0;
    std::uint64_t auth_errors = 0;
    std::uint64_t auth_forbidden = 0;
    std::uint64_t auth_crowded = 0;
  };
  /// Counts since the start, regardless of resets.
  [[nodiscard]] Counters counters() const noexcept;
  /// Items in the tree, and their memory.
  [[nodiscard]] std::uint64_t items() const noexcept;
  [[nodiscard]] std::uint64_t item_bytes() const noexcept;

 private:
  [[nodiscard]] Counters since_reset();
  void reset();
  [[nodiscard]] LatencyLook latencies_before_reset();
  [[nodiscard]] std::string detail(std::string_view group, AdminCursor& cursor);
  void general(StatText& text);
  void settings(StatText& text) const;
  void runtime_group(StatText& text) const;
  void index_group(StatText& text) const;

  runtime::Runtime& runtime_;
  Store& store_;
  const config::DaemonOptions& options_;
  const Credentials& credentials_;
  Network* network_ = nullptr;
  std::vector<config::ListenAddress> listeners_;
  const Durability* durability_ = nullptr;
  const Feed* feed_ = nullptr;
  const ClusterNode* cluster_ = nullptr;
  const ClusterStore* routed_ = nullptr;
  std::atomic<bool> shutdown_command_;  // relaxed: only shown
  std::uint64_t started_ns_;
  runtime::PageCensus census_;
  std::atomic<std::uint64_t> verbosity_{0};  // relaxed: only shown
  std::mutex mutex_;                         ///< guards the rest; `stats` is rare
  Counters baseline_;
  LatencyLook latencies_before_;  ///< as of the last reset
};

}  // namespace mxkv::server
