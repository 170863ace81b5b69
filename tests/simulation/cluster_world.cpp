#include "tests/simulation/cluster_world.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <set>
#include <vector>

#include "tests/simulation/cluster_common.hpp"
#include "tests/simulation/cluster_engine.hpp"
#include "tests/simulation/cluster_process.hpp"

namespace mxkv::simulation {
namespace {

using server::message_effect;
using server::message_flaw;
using server::message_kind;

constexpr std::size_t kNodes = 3;
constexpr std::uint32_t kKeys = 5;
constexpr std::size_t kClients = 4;
constexpr std::uint64_t kTroubleNs = 40 * kSecond;
constexpr std::uint64_t kHealingNs = 25 * kSecond;
constexpr std::uint64_t kMostSilenceNs = 3 * kSecond;

struct Node {
  explicit Node(const Timeline& timeline, std::uint64_t rate_permille) : clock(timeline, rate_permille) {}
  SkewedClock clock;
  NodeLink link;
  ClusterSnapshot disk;
  std::vector<std::unique_ptr<ClusterProcess>> lives;  ///< the last one may run
  [[nodiscard]] ClusterProcess& process() const { return *lives.back(); }
};

class World {
 public:
  explicit World(const ClusterPlan& plan) : plan_(plan), dice_(plan.seed + 1) {
    const std::uint64_t harm = dice_.below(4) * 15;
    faults_ = {.request_lost = dice_.below(harm + 1),
               .answer_lost = dice_.below(harm + 1),
               .late = dice_.below(harm + 1),
               .twice = dice_.below(harm + 1),
               .refused = dice_.below(harm + 1)};
    engine_.faults = faults_;
    for (std::size_t i = 0; i < kNodes; ++i) {
      nodes_.push_back(std::make_unique<Node>(timeline_, dice_.between(950, 1050)));
      begin_life(*nodes_.back());
    }
    for (std::size_t client = 0; client < kClients; ++client) {
      ask_soon(client);
    }
    timeline_.in(dice_.between(kSecond, 8 * kSecond), [this] { trouble(); });
  }

  ClusterVerdict run() {
    run_until(timeline_.now_ns() + kTroubleNs);
    troubled_ = false;
    heal();
    run_until(timeline_.now_ns() + kHealingNs);
    asking_ = false;
    run_until(timeline_.now_ns() + 3 * kSecond);
    judge();
    for (const auto& node : nodes_) {
      for (const auto& life : node->lives) {
        verdict_.paths.add(
            {.answered = 0, .refused = 0, .voids = 0, .unknown = 0, .shards = life->shard().counters()});
      }
    }
    return verdict_;
  }

 private:
  // Time.

  void run_until(std::uint64_t end_ns) {
    while (timeline_.now_ns() < end_ns && timeline_.step()) {
      const auto serving =
          std::ranges::count_if(nodes_, [](const auto& node) { return node->process().serves(); });
      if (serving > 0) {
        served_ns_ = timeline_.now_ns();
      }
      if (serving > 1) {
        verdict_.complaints.add("two nodes serve the shard");
      }
    }
  }

  void begin_life(Node& node) {
    server::ShardOptions options;
    options.scope = kClusterScope;
    options.node = ++lives_;
    options.address = "node" + std::to_string(lives_);
    options.lease_ns = any_lease_ns();
    options.margin_permille = plan_.margin_permille;
    options.part_bytes = 60;
    options.preferred = dice_.permille(500);  // claims of others are late enough to hide a small margin
    options.seed = dice_.below(1U << 30U) + 1;
    options.rules = plan_.rules;
    node.lives.push_back(std::make_unique<ClusterProcess>(
        ClusterProcess::Place{timeline_, dice_, engine_, node.link, node.clock, node.disk}, options));
    node.process().start();
  }

  /// Most are alike: a lease that is too long for all hides the effects of a short one.
  std::uint64_t any_lease_ns() {
    return dice_.permille(500) ? 3 * kSecond : dice_.between(kSecond, 4 * kSecond);
  }

  // Clients.

  void ask_soon(std::size_t client) {
    timeline_.in(dice_.between(20 * kMs, 400 * kMs), [this, client] { ask(client); });
  }

  void ask(std::size_t client) {
    if (!asking_) {
      return;
    }
    ClusterRequest& request = requests_.emplace_back();
    request.id = requests_.size();
    request.key = static_cast<std::uint32_t>(dice_.below(kKeys));
    if (dice_.permille(500)) {
      request.written = request.id;
    }
    request.invoked_ns = timeline_.now_ns();
    // The believed owner; now and then any node.
    std::size_t target = dice_.below(kNodes);
    if (!dice_.permille(300)) {
      const auto owner =
          std::ranges::find_if(nodes_, [](const auto& node) { return node->process().serves(); });
      target = owner == nodes_.end() ? target : static_cast<std::size_t>(owner - nodes_.begin());
    }
    ClusterProcess& process = nodes_[target]->process();
    timeline_.in(dice_.between(kMs / 10, 3 * kMs),
                 [&process, &request] { process.run([&process, &request] { process.ask(request); }); });
    when_answered(timeline_, request, timeline_.now_ns() + dice_.between(kSecond, 5 * kSecond),
                  [this, client] { ask_soon(client); });
  }

  // The faults.

  void trouble() {
    if (!troubled_) {
      return;
    }
    timeline_.in(dice_.between(500 * kMs, 7 * kSecond), [this] { trouble(); });
    Node& node = *nodes_[dice_.below(kNodes)];
    const std::uint64_t last_ns = dice_.between(100 * kMs, 8 * kSecond);
    const auto owner = std::ranges::find_if(nodes_, [](const auto& one) { return one->process().serves(); });
    Node& chosen = owner != nodes_.end() && dice_.permille(700) ? **owner : node;
    switch (const auto what = dice_.below(9); what) {
      case 0: {
        ClusterProcess& process = chosen.process();
        process.stand_still();
        timeline_.in(last_ns, [&process] { process.go_on(); });
        break;
      }
      case 1:
        if (!chosen.process().lives()) {
          break;
        }
        chosen.process().kill();
        timeline_.in(last_ns, [this, &chosen] { begin_life(chosen); });
        break;
      case 2:
      case 3:
      case 4:
        cut(way_of(chosen.link, what - 2), last_ns);
        break;
      case 5:
        if (dice_.permille(300)) {
          cut(engine_.down, last_ns);
        } else {
          for (unsigned way = 0; way < kWays; ++way) {
            cut(way_of(chosen.link, way), last_ns);
          }
        }
        break;
      case 6:
        chosen.process().run(
            [&chosen, &node] { static_cast<void>(chosen.process().leave(node.process().node())); });
        break;
      case 7:
        change_leases();
        break;
      default:
        disturb();
        break;
    }
  }

  /// Nodes learn of another lease at different times, or not at all.
  void change_leases() {
    const std::uint64_t lease_ns = any_lease_ns();
    for (const auto& node : nodes_) {
      if (dice_.permille(800)) {
        ClusterProcess& process = node->process();
        timeline_.in(dice_.below(2 * kSecond), [&process, lease_ns] {
          process.run([&process, lease_ns] { process.set_lease(lease_ns); });
        });
      }
    }
  }

  void cut(bool& flag, std::uint64_t last_ns) {
    flag = true;
    timeline_.in(last_ns, [&flag] { flag = false; });
  }

  /// A stranger writes to the log.
  void disturb() {
    const auto& log = engine_.log();
    std::string bytes = log.empty() ? "" : log[dice_.below(log.size())].bytes;
    if (bytes.empty()) {
      bytes = "hello";
    }
    if (dice_.permille(300)) {
      bytes[dice_.below(bytes.size())] ^= static_cast<char>(1U << dice_.below(8));
    } else if (dice_.permille(200)) {
      bytes.resize(dice_.below(bytes.size()));
    }
    static_cast<void>(engine_.store(std::move(bytes)));
  }

  void heal() {
    engine_.faults = {};
    for (const auto& node : nodes_) {
      timeline_.in(0, [&node = *node] { node.process().go_on(); });
    }
  }

  // The verdict.

  /// By the log alone: which sets count, and where they were stored.
  std::map<std::uint64_t, std::uint64_t> counting_sets(std::map<std::uint32_t, std::uint64_t>& items) const {
    std::map<std::uint64_t, std::uint64_t> stored;
    server::ShardState state;
    std::string parts;
    for (const ClusterEngine::Stored& entry : engine_.log()) {
      const server::ParsedMessage parsed = server::parse_message(entry.bytes, kClusterScope);
      if (parsed.flaw != message_flaw::none) {
        continue;
      }
      const message_effect effect = state.take(parsed.message);
      if (effect == message_effect::opens) {
        parts.clear();
      }
      if (effect != message_effect::counts || parsed.message.kind != message_kind::group) {
        continue;
      }
      parts.append(parsed.message.body);
      if (parsed.message.part + 1 == parsed.message.parts) {
        const ClusterRecord record = read_record(parts);
        parts.clear();
        items[record.key] = record.number;
        if (!stored.emplace(record.id, entry.at_ns).second) {
          verdict_duplicates_ = true;
        }
      }
    }
    return stored;
  }

  void judge() {
    Complaints& complaints = verdict_.complaints;
    std::map<std::uint32_t, std::uint64_t> items;
    const std::map<std::uint64_t, std::uint64_t> stored = counting_sets(items);
    complaints.unless(!verdict_duplicates_, "a set counts twice");
    // For moments an owner may have to ask first: an append of which nothing is known is made again.
    complaints.unless(served_ns_ + kMostSilenceNs >= timeline_.now_ns(),
                      "nobody serves the shard long after all healed");
    for (const auto& node : nodes_) {
      complaints.unless(
          std::ranges::none_of(node->lives, [](const auto& life) { return life->is_stranded(); }),
          "a node is stranded, and nothing was cut off");
      complaints.unless(node->process().items() == items, "a node does not hold what its log says");
    }
    std::array<index::testing::KeyHistory, kKeys> histories;
    for (const ClusterRequest& request : requests_) {
      const auto at = stored.find(request.id);
      const bool counts = at != stored.end();
      const bool told = request.answered_ns != 0;
      verdict_.paths.unknown += told ? 0 : 1;
      if (told && request.told != ClusterRequest::answer::value) {
        complaints.unless(!counts, "a set that was said to be void counts");
        ++(request.told == ClusterRequest::answer::refused ? verdict_.paths.refused : verdict_.paths.voids);
        continue;
      }
      verdict_.paths.answered += told ? 1 : 0;
      complaints.unless(!told || !request.written || counts, "an acknowledged set does not count");
      if (!told && !counts) {
        continue;  // a read that was not answered, or a set that never arrived
      }
      // A change that counts was visible when it was stored, whatever answer its client got.
      histories[request.key].add(history_entry(
          request, request.written ? index::testing::verb::upsert : index::testing::verb::find,
          request.written.value_or(0), told, counts ? std::optional{at->second} : std::nullopt));
    }
    for (const index::testing::KeyHistory& history : histories) {
      if (const auto contradiction = history.contradiction()) {
        complaints.add(*contradiction);
      }
    }
  }

  ClusterPlan plan_;
  Dice dice_;
  Timeline timeline_;
  ClusterEngine engine_{timeline_};
  EngineFaults faults_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::uint64_t lives_ = 0;
  std::deque<ClusterRequest> requests_;
  bool troubled_ = true;
  std::uint64_t served_ns_ = 0;  ///< when a node served last
  bool asking_ = true;
  mutable bool verdict_duplicates_ = false;
  ClusterVerdict verdict_;
};

}  // namespace

void ClusterPaths::add(const ClusterPaths& other) {
  answered += other.answered;
  refused += other.refused;
  voids += other.voids;
  unknown += other.unknown;
  add_counters(shards, other.shards);
}

ClusterVerdict run_cluster(const ClusterPlan& plan) {
  return World{plan}.run();
}

}  // namespace mxkv::simulation
