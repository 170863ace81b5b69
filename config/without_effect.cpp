#include "config/without_effect.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace mxkv::config {
namespace {

constexpr const char* kNoDirectory = "durability.directory is none, so that nothing is written";
constexpr const char* kOneWorker = "there is only one worker";
constexpr const char* kOneNode = "all workers are on one NUMA node";

// Compares the options with their defaults, and collects findings.
class Search {
 public:
  Search(const DaemonOptions& options, std::size_t workers, std::size_t nodes)
      : options_(options), alone_(workers == 1), one_node_(workers == 1 || nodes == 1) {}

  Findings run() {
    order();
    balance();
    prefetch();
    requests();
    durability();
    cluster();
    prefixes();
    return std::move(found_);
  }

 private:
  void note(bool changed, const std::string& path, std::string what) {
    if (changed) {
      const Origin* origin = find_origin(options_.origins, path);
      found_.push_back({origin == nullptr ? Origin{} : *origin, path, std::move(what)});
    }
  }
  void without_effect(bool changed, const std::string& path, const std::string& why) {
    note(changed, path, "has no effect: " + why);
  }

  void order() {
    without_effect(alone_ && options_.order_reach != defaults_.order_reach, "experimental.order_reach",
                   kOneWorker);
  }

  void balance() {
    const BalanceOptions& mine = options_.balance;
    const bool off = mine.mode == balance_mode::off;
    without_effect(alone_ && off, "server.balance", kOneWorker);
    without_effect((alone_ || off) && mine.window_ms != defaults_.balance.window_ms,
                   "experimental.balance_window", alone_ ? kOneWorker : "server.balance is off");
    without_effect(one_node_ && mine.accept != defaults_.balance.accept, "server.accept", kOneNode);
  }

  void prefetch() {
    bool used = options_.prefetch.mode == runtime::prefetch_mode::distance;
    for_nodes([this, &used](const NodeOptions& node, const std::string& path) {
      const bool by_distance =
          node.prefetch.mode.value_or(options_.prefetch.mode) == runtime::prefetch_mode::distance;
      used = used || (by_distance && !node.prefetch.distance);
      without_effect(node.prefetch.distance && !by_distance, path + ".prefetch.distance",
                     "the mode of its prefetching is not distance");
    });
    without_effect(!used && options_.prefetch.distance != defaults_.prefetch.distance,
                   "experimental.prefetch.distance", "experimental.prefetch.mode is not distance");
  }

  // Not a switch for research, but of the same kind.
  void requests() {
    without_effect(options_.stats.sample == 0 && options_.stats.slow_ms != defaults_.stats.slow_ms,
                   "stats.slow", "stats.sample is off, so that no request is timed");
    without_effect(options_.log.rotate_bytes == 0 && options_.log.rotate_files != defaults_.log.rotate_files,
                   "log.rotate_files", "log.rotate_bytes is off");
  }

  void durability() {
    const DurabilityOptions& mine = options_.durability;
    const DurabilityOptions& plain = defaults_.durability;
    const bool other_sync = mine.sync != plain.sync;
    without_effect(other_sync && mine.directory.empty(), "durability.sync", kNoDirectory);
    const bool other_reads = mine.reads != plain.reads;
    without_effect(other_reads && mine.directory.empty(), "durability.reads", kNoDirectory);
    without_effect(other_reads && !mine.directory.empty() && other_sync, "durability.reads",
                   "durability.sync is not commit, so that no read waits");
    const CheckpointOptions& checkpoint = mine.checkpoint;
    without_effect(mine.directory.empty() && checkpoint.every_ms != 0, "durability.checkpoint.every",
                   kNoDirectory);
    without_effect(mine.directory.empty() && checkpoint.compress, "durability.checkpoint.compress",
                   kNoDirectory);
  }

  void cluster() {
    const ClusterOptions& mine = options_.cluster;
    if (mine.name.empty()) {
      constexpr const char* kNoCluster = "cluster.name is none, so that there is no cluster";
      without_effect(!mine.brokers.empty(), "cluster.brokers", kNoCluster);
      without_effect(mine.peer.has_value(), "cluster.peer", kNoCluster);
      without_effect(mine.tls.given(), "cluster.tls", kNoCluster);
    }
  }

  void prefixes() {
    for (std::size_t i = 0; i < options_.prefixes.size(); ++i) {
      const PrefixOptions& prefix = options_.prefixes[i];
      const std::string path = "prefixes[" + std::to_string(i) + "].";
      without_effect(prefix.keep_bytes != 0 && options_.when_full == when_full::error, path + "keep",
                     "memory.when_full is error, so that no item makes room for others");
      without_effect(!prefix.has_limit() && prefix.when_full != PrefixOptions{}.when_full, path + "when_full",
                     "the prefix has no limit of its own");
      without_effect((!prefix.has_limit() || prefix.when_full == when_full::error) &&
                         prefix.evict_for != PrefixOptions{}.evict_for,
                     path + "evict_for", "the prefix has no limit of its own at which items are evicted");
    }
  }

  // All entries of `nodes`, at the top and in topologies, with the path of their section of switches.
  template <class Each>
  void for_nodes(const Each& each) {
    const auto visit = [&each](const std::vector<NodeOptions>& nodes, const std::string& prefix) {
      for (std::size_t i = 0; i < nodes.size(); ++i) {
        each(nodes[i], prefix + "nodes[" + std::to_string(i) + "].experimental");
      }
    };
    visit(options_.nodes, "");
    for (std::size_t i = 0; i < options_.topologies.size(); ++i) {
      visit(options_.topologies[i].nodes, "topologies[" + std::to_string(i) + "].");
    }
  }

  const DaemonOptions& options_;
  const DaemonOptions defaults_;
  bool alone_;
  bool one_node_;
  Findings found_;
};

}  // namespace

Findings switches_without_effect(const DaemonOptions& options, std::size_t workers, std::size_t nodes) {
  return Search{options, workers, nodes}.run();
}

}  // namespace mxkv::config
