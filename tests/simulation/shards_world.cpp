#include "tests/simulation/shards_world.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "tests/simulation/cluster_common.hpp"
#include "tests/simulation/shards_judge.hpp"

namespace mxkv::simulation {
namespace {

constexpr std::size_t kNodes = 3;
constexpr std::size_t kClients = 6;
constexpr std::uint64_t kTroubleNs = 40 * kSecond;
constexpr std::uint64_t kHealingNs = 25 * kSecond;
/// Snapshots go on, and one may outrun an owner that reads its log slowly: then another node has to take over.
constexpr std::uint64_t kMostHealingNs = 120 * kSecond;
constexpr std::uint64_t kQuietNs = 6 * kSecond;

/// A node, and its processes one after the other.
struct ShardsNode {
  ShardsNode(const Timeline& timeline, std::uint64_t rate_permille) : clock(timeline, rate_permille) {}
  SkewedClock clock;
  NodeLink link;
  std::vector<std::unique_ptr<ShardsProcess>> lives;  ///< the last one may run
  [[nodiscard]] ShardsProcess& process() const { return *lives.back(); }
};

class ShardsWorld {
 public:
  explicit ShardsWorld(const ShardsPlan& plan) : plan_(plan), dice_(plan.seed + 1) {
    const std::uint64_t harm = dice_.below(4) * 15;
    for (std::uint32_t shard = 0; shard < kShards; ++shard) {
      ShardsLogs& logs = logs_.emplace_back(timeline_);
      logs.changes.faults = {.request_lost = dice_.below(harm + 1),
                             .answer_lost = dice_.below(harm + 1),
                             .late = dice_.below(harm + 1),
                             .twice = dice_.below(harm + 1),
                             .refused = dice_.below(harm + 1)};
      logs.snapshots.faults = {.answer_lost = dice_.below(harm + 1), .twice = dice_.below(harm + 1)};
    }
    board_.harm = harm;
    for (std::size_t i = 0; i < kNodes; ++i) {
      nodes_.push_back(std::make_unique<ShardsNode>(timeline_, dice_.between(kLeastRatePermille, 1050)));
      begin_life(*nodes_.back());
    }
    for (std::size_t client = 0; client < kClients; ++client) {
      ask_soon(client);
    }
    timeline_.in(dice_.between(kSecond, 8 * kSecond), [this] { trouble(); });
  }

  ShardsVerdict run() {
    run_until(timeline_.now_ns() + kTroubleNs);
    heal();
    run_until(timeline_.now_ns() + kHealingNs);
    while (!all_served() && timeline_.now_ns() < kTroubleNs + kMostHealingNs) {
      run_until(timeline_.now_ns() + kSecond);
    }
    asking_ = false;
    run_until(timeline_.now_ns() + kQuietNs);
    judge();
    for (const auto& node : nodes_) {
      for (const auto& life : node->lives) {
        const ProcessPaths paths = life->paths();
        verdict_.complaints.unless(paths.strayed_behind_yield == 0,
                                   "a node recorded a write of a shard that it had left in order");
        verdict_.paths.processes.add(paths);
      }
    }
    return verdict_;
  }

 private:
  [[nodiscard]] bool all_served() const {
    return std::ranges::all_of(served_ns_,
                               [this](std::uint64_t when) { return when + kSecond > timeline_.now_ns(); });
  }

  // Time.

  void run_until(std::uint64_t end_ns) {
    while (timeline_.now_ns() < end_ns && timeline_.step()) {
      for (std::uint32_t shard = 0; shard < kShards; ++shard) {
        const auto serving = std::ranges::count_if(
            nodes_, [shard](const auto& node) { return node->process().serves(shard); });
        served_ns_[shard] = serving > 0 ? timeline_.now_ns() : served_ns_[shard];
        if (serving > 1) {
          verdict_.complaints.add("two nodes serve a shard");
        }
      }
    }
  }

  void begin_life(ShardsNode& node) {
    node.lives.push_back(
        std::make_unique<ShardsProcess>(ShardsProcess::Place{.timeline = timeline_,
                                                             .dice = dice_,
                                                             .logs = logs_,
                                                             .board = board_,
                                                             .link = node.link,
                                                             .clock = node.clock,
                                                             .keys = keys_,
                                                             .splits = splits_,
                                                             .rules = plan_.rules,
                                                             .shard_rules = plan_.shard_rules},
                                        ++lives_, plan_.margin_permille));
    node.process().start();
  }

  ShardsNode& any_node() { return *nodes_[dice_.below(kNodes)]; }
  /// The node that serves it; if there is none, any node.
  ShardsNode& owner_of(std::uint32_t shard) {
    const auto owner =
        std::ranges::find_if(nodes_, [shard](const auto& node) { return node->process().serves(shard); });
    return owner == nodes_.end() ? any_node() : **owner;
  }

  // Clients.

  void ask_soon(std::size_t client) {
    timeline_.in(dice_.between(10 * kMs, 250 * kMs), [this, client] { ask(client); });
  }

  void ask(std::size_t client) {
    if (!asking_) {
      return;
    }
    ShardsRequest& request = requests_.emplace_back();
    request.id = requests_.size();
    request.key = static_cast<std::uint32_t>(dice_.below(keys_.size()));
    const std::uint64_t asks = dice_.below(100);
    request.asks = asks < 45   ? ShardsRequest::what::get
                   : asks < 85 ? ShardsRequest::what::set
                               : ShardsRequest::what::remove;
    request.invoked_ns = timeline_.now_ns();
    request.takes_stale = request.asks == ShardsRequest::what::get && dice_.permille(400);
    ShardsNode& node = request.takes_stale || dice_.permille(250) ? any_node() : owner_of(request.key / 2);
    ShardsProcess& process = node.process();
    timeline_.in(dice_.between(kMs / 10, 3 * kMs), [&process, &request] { process.ask(request); });
    when_answered(timeline_, request, timeline_.now_ns() + dice_.between(kSecond / 2, 4 * kSecond),
                  [this, client] { ask_soon(client); });
  }

  // The faults.

  void trouble() {
    if (!troubled_) {
      return;
    }
    timeline_.in(dice_.between(300 * kMs, 5 * kSecond), [this] { trouble(); });
    const auto shard = static_cast<std::uint32_t>(dice_.below(kShards));
    ShardsNode& chosen = dice_.permille(700) ? owner_of(shard) : any_node();
    ShardsProcess& process = chosen.process();
    const std::uint64_t last_ns = dice_.between(100 * kMs, 8 * kSecond);
    const std::uint64_t what = dice_.below(12);
    switch (what) {
      case 0:
        if (dice_.permille(500)) {
          stand_still(process, last_ns);
        } else {
          process.worker(dice_.below(kWorkers)).stall_before_serving([this, &process, last_ns] {
            stand_still(process, last_ns);
          });
        }
        break;
      case 1:
        if (process.lives()) {
          process.kill();
          timeline_.in(last_ns, [this, &chosen] { begin_life(chosen); });
        }
        break;
      case 5:
        if (dice_.permille(700)) {
          for (unsigned way = 0; way < kWays; ++way) {
            cut(way_of(chosen.link, way), last_ns);
          }
          break;
        }
        cut(logs_[shard].changes.down, last_ns);
        break;
      case 4:
      case 3:
      case 2:
        cut(way_of(chosen.link, what - 2), last_ns);
        break;
      case 6:
      case 7:
        process.leave(shard, any_node().process().node());
        break;
      case 8:
        hold_up(process.cluster_thread(), last_ns);
        break;
      case 10:
        process.set_short_of_memory(true);
        timeline_.in(last_ns, [&process] { process.set_short_of_memory(false); });
        break;
      case 9:
        hold_up_worker(chosen, dice_.below(kWorkers), last_ns);
        break;
      default:
        disturb(logs_[shard].changes);
        break;
    }
  }

  void stand_still(ShardsProcess& process, std::uint64_t last_ns) {
    process.stand_still();
    timeline_.in(last_ns, [&process] { process.go_on(); });
  }

  /// Anywhere, or just where the worker has looked at a route; then the shard is likely lost meanwhile.
  void hold_up_worker(ShardsNode& node, std::size_t worker, std::uint64_t last_ns) {
    SimThread& thread = node.process().worker_thread(worker);
    if (dice_.permille(300)) {
      hold_up(thread, last_ns);
      return;
    }
    node.process().worker(worker).stall_before_work([this, &node, &thread, last_ns] {
      hold_up(thread, last_ns);
      for (unsigned way = 0; way < kWays; ++way) {
        cut(way_of(node.link, way), last_ns - last_ns / 4);
      }
    });
  }

  void hold_up(SimThread& thread, std::uint64_t last_ns) {
    thread.stand_still();
    timeline_.in(last_ns, [&thread] { thread.go_on(); });
  }

  void cut(bool& flag, std::uint64_t last_ns) {
    flag = true;
    timeline_.in(last_ns, [&flag] { flag = false; });
  }

  /// A stranger writes to the log.
  void disturb(ClusterEngine& engine) {
    const auto& log = engine.log();
    std::string bytes = log.empty() ? "hello" : log[dice_.below(log.size())].bytes;
    if (dice_.permille(300)) {
      bytes[dice_.below(bytes.size())] ^= static_cast<char>(1U << dice_.below(8));
    } else if (dice_.permille(200)) {
      bytes.resize(dice_.below(bytes.size()));
    }
    static_cast<void>(engine.store(std::move(bytes)));
  }

  /// Threads that stand still and nodes that are cut off go on by themselves.
  void heal() {
    troubled_ = false;
    board_.harm = 0;
    for (ShardsLogs& logs : logs_) {
      logs.changes.faults = {};
      logs.snapshots.faults = {};
    }
  }

  // The verdict.

  void judge() {
    Complaints& complaints = verdict_.complaints;
    const ShardsTruth truth = read_logs(logs_, complaints);
    for (std::uint32_t shard = 0; shard < kShards; ++shard) {
      complaints.unless(served_ns_[shard] + kQuietNs > timeline_.now_ns(),
                        "nobody serves a shard long after all healed");
    }
    for (const auto& node : nodes_) {
      complaints.unless(node->process().is_quiet(), "a node is not quiet long after all healed");
      complaints.unless(node->process().items() == truth.items, "a node does not hold what the logs say");
    }
    judge_answers(requests_, truth, keys_.size(), complaints, verdict_.paths);
  }

  ShardsPlan plan_;
  Dice dice_;
  Timeline timeline_;
  const std::vector<std::string> keys_{"b0", "b1", "k0", "k1", "t0", "t1"};
  const std::vector<std::string> splits_{"k", "t"};
  std::deque<ShardsLogs> logs_;
  ShardsBoard board_{timeline_, dice_};
  std::vector<std::unique_ptr<ShardsNode>> nodes_;
  std::uint64_t lives_ = 0;
  std::deque<ShardsRequest> requests_;
  std::array<std::uint64_t, kShards> served_ns_{};  ///< when each shard was last served
  bool troubled_ = true;
  bool asking_ = true;
  ShardsVerdict verdict_;
};

}  // namespace

void ShardsPaths::add(const ShardsPaths& other) {
  answered += other.answered;
  refused += other.refused;
  unknown += other.unknown;
  voids += other.voids;
  processes.add(other.processes);
}

ShardsVerdict run_shards(const ShardsPlan& plan) {
  return ShardsWorld{plan}.run();
}

}  // namespace mxkv::simulation
