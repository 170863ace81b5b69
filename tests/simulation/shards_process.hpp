// A process of a simulated cluster of several shards: the parts that a node runs above its shards' engines,
// as production has them, over simulated workers and memory. turn() stands for ClusterNode's.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/cluster/board_reader.hpp"
#include "server/cluster/epoch_pipeline.hpp"
#include "server/cluster/hosted_shard.hpp"
#include "server/cluster/presence.hpp"
#include "server/cluster/routes.hpp"
#include "tests/simulation/cluster_process.hpp"
#include "tests/simulation/shards_board.hpp"
#include "tests/simulation/shards_memory.hpp"
#include "tests/simulation/shards_worker.hpp"

namespace mxkv::simulation {

inline constexpr std::uint32_t kShards = 3;
inline constexpr std::size_t kWorkers = 2;
/// Of nodes' clocks.
inline constexpr std::uint64_t kLeastRatePermille = 950;

[[nodiscard]] inline server::MessageScope scope_of(std::uint32_t shard) {
  return {.cluster = 0xC1, .shard = shard};
}

/// The keepers of one shard's logs.
struct ShardsLogs {
  explicit ShardsLogs(Timeline& timeline) : changes(timeline), snapshots(timeline) {}
  ClusterEngine changes;
  ClusterEngine snapshots;
};

/// The paths that a process took.
struct ProcessPaths {
  WorkerPaths workers;
  server::HostedCounters hosted;
  server::ShardCounters shards;
  std::uint64_t strayed = 0;
  std::uint64_t strayed_behind_yield = 0;  ///< of these: the shard had been left in order
  std::uint64_t stranded = 0;
  std::uint64_t lacked = 0;  ///< copies that were dropped for lack of memory
  std::uint64_t opened = 0;
  std::uint64_t left = 0;      ///< in order
  std::uint64_t voided = 0;    ///< groups
  std::uint64_t failures = 0;  ///< fences that were passed

  void add(const ProcessPaths& other);
};

/// Thread-safety: one thread.
class ShardsProcess {
 public:
  struct Place {
    Timeline& timeline;
    Dice& dice;
    std::deque<ShardsLogs>& logs;
    ShardsBoard& board;
    const NodeLink& link;
    const SkewedClock& clock;
    const std::vector<std::string>& keys;
    const std::vector<std::string>& splits;
    ShardsRules rules;
    server::ShardRules shard_rules;
  };

  ShardsProcess(const Place& place, std::uint64_t node, std::uint64_t margin_permille);

  void start();
  void kill();
  /// The whole process stands still.
  void stand_still();
  void go_on();

  void ask(ShardsRequest& request);
  void leave(std::uint32_t shard, std::uint64_t to);
  /// While memory is short, it applies no log, and its workers are slow.
  void set_short_of_memory(bool is_short) {
    memory_.set_short(is_short);
    for (const auto& worker : workers_) {
      worker->slow_reads_down(is_short);
    }
  }

  [[nodiscard]] SimThread& cluster_thread() noexcept { return cluster_; }
  [[nodiscard]] ShardsWorker& worker(std::size_t worker) { return *workers_[worker]; }
  [[nodiscard]] SimThread& worker_thread(std::size_t worker) { return workers_[worker]->thread; }
  [[nodiscard]] bool lives() const noexcept { return alive_; }
  [[nodiscard]] std::uint64_t node() const noexcept { return node_; }
  /// Whether a request that came now would be served.
  [[nodiscard]] bool serves(std::uint32_t shard) const {
    return alive_ && routes_.is_here(shard, place_.clock.monotonic_ns());
  }
  /// Whether no work is under way in it.
  [[nodiscard]] bool is_quiet() const;
  [[nodiscard]] const ShardsItems& items() const noexcept { return memory_.items(); }
  [[nodiscard]] ProcessPaths paths() const;

 private:
  void ring();
  void turn();
  void tick();
  void note(const std::string& line);
  void note_straggler(std::uint32_t shard);
  void say_word(std::uint64_t now_ns);
  void read_words(std::uint64_t now_ns);

  Place place_;
  std::uint64_t node_;
  bool alive_ = true;
  SimThread cluster_;
  SimThread applier_;
  std::uint64_t applied_ns_ = 0;  ///< when the last change of memory is done
  bool rung_ = false;
  std::uint64_t tick_ns_ = 0;
  server::Routes routes_;
  server::BoardReader reader_;
  std::size_t read_ = 0;       ///< of the board
  std::uint64_t word_ns_ = 0;  ///< when the next word is due
  /// By process: its last word, and when that was read.
  std::map<std::uint64_t, std::pair<server::Presence, std::uint64_t>> heard_;
  server::EpochPipeline pipeline_;
  ShardsMemory memory_;
  server::ShardSurroundings around_;
  std::vector<std::unique_ptr<server::HostedShard>> shards_;
  std::vector<std::unique_ptr<ShardsWorker>> workers_;
  std::vector<std::uint32_t> strayed_;
  std::array<bool, kShards> left_{};  ///< in order, since it was served last
  ProcessPaths paths_;
};

}  // namespace mxkv::simulation
