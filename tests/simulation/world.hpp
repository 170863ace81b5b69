// A world that a seed decides, whole: an invented machine, workers, clients that keep operations on one tree
// and errands in flight, and interference with them: versions move, latches are held by no visible task, time
// passes, memory runs out and comes back. Some worlds end in the middle of it.
//
// At its end the world looks whether each key's history is linearizable, scans were in order, the tree's
// invariants hold, each task ran to its end once, and all memory came back.
#pragma once

#include <algorithm>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/simulation/errands.hpp"
#include "tests/simulation/interference.hpp"
#include "tests/simulation/memory_check.hpp"
#include "tests/simulation/world_options.hpp"
#include "tests/unit/index/byte_keys.hpp"
#include "tests/unit/index/interrupted.hpp"
#include "tests/unit/index/tree_load.hpp"

namespace mxkv::simulation {

/// The events of a world, or of several.
struct Report {
  std::vector<std::string> complaints;
  std::uint64_t fingerprint = 0;  ///< the same for the same seed
  std::uint64_t interruptions = 0;
  std::uint64_t parks = 0;
  std::uint64_t worker_wakes = 0;
  std::uint64_t pools_stolen = 0;
  std::uint64_t immediate_of_others = 0;  ///< taken, as the next two
  std::uint64_t deferred = 0;
  std::uint64_t deferred_far = 0;
  std::uint64_t pools_moved = 0;
  std::uint64_t objects_moved = 0;
  std::uint64_t forwarded = 0;
  std::uint64_t retries = 0;
  std::uint64_t reclaimed = 0;
  std::uint64_t misplaced = 0;
  std::uint64_t stage_conflicts = 0;
  std::uint64_t out_of_memory = 0;
  std::uint64_t deep_trees = 0;  ///< of three levels and more
  std::uint64_t unlinked = 0;    ///< leaves
  std::uint64_t merged = 0;      ///< of them, with their right neighbours
  std::uint64_t folded = 0;      ///< inner nodes
  std::uint64_t fold_undone = 0;
  std::uint64_t unlink_waits = 0;
  std::uint64_t turned = 0;  ///< leaves that changed their primitive

  void add(const Report& other) {
    complaints.insert(complaints.end(), other.complaints.begin(), other.complaints.end());
    fingerprint = fingerprint * 1'000'003 + other.fingerprint;
    for (const auto member : {&Report::interruptions,
                              &Report::parks,
                              &Report::worker_wakes,
                              &Report::pools_stolen,
                              &Report::pools_moved,
                              &Report::objects_moved,
                              &Report::immediate_of_others,
                              &Report::deferred,
                              &Report::deferred_far,
                              &Report::forwarded,
                              &Report::retries,
                              &Report::reclaimed,
                              &Report::misplaced,
                              &Report::stage_conflicts,
                              &Report::out_of_memory,
                              &Report::deep_trees,
                              &Report::unlinked,
                              &Report::folded,
                              &Report::fold_undone,
                              &Report::unlink_waits,
                              &Report::turned,
                              &Report::merged}) {
      this->*member += other.*member;
    }
  }
};

/// A worker's client: as a socket, it spawns operations and is rung when one of them is answered.
template <class Env>
class Client final : public index::testing::TreeLoad<Env> {
  using Base = index::testing::TreeLoad<Env>;

 public:
  template <class... Args>
  Client(Bells& bells, std::size_t worker, std::size_t errands, Args&&... args)
      : Base(std::forward<Args>(args)...), bells_(bells), worker_(worker), left_(errands) {}
  /// Before the first poll.
  void set_errands(Errands& errands, runtime::Random& random) {
    errands_ = &errands;
    random_ = &random;
  }
  [[nodiscard]] bool started_all() const noexcept { return left_ == 0; }

  bool poll(runtime::Worker& worker) override {
    const bool any = Base::poll(worker);
    if (left_ == 0) {
      return any;
    }
    if (random_->below(4) == 0) {
      --left_;
      errands_->start_one(worker);
    }
    return true;
  }
  void wake() noexcept override { bells_.ring(worker_); }

 private:
  Bells& bells_;
  std::size_t worker_;
  std::size_t left_;
  Errands* errands_ = nullptr;
  runtime::Random* random_ = nullptr;
};

inline std::vector<std::uint64_t> world_keys(std::uint64_t /*kind*/, std::size_t count,
                                             runtime::Random& random) {
  std::vector<std::uint64_t> keys{0, ~std::uint64_t{0}};
  while (keys.size() < count) {
    keys.push_back(random.below(500));
  }
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return keys;
}
inline std::vector<std::string> world_keys(const std::string& /*kind*/, std::size_t count,
                                           runtime::Random& random) {
  using index::testing::kAllKeySets;
  return index::testing::make_keys(kAllKeySets[random.below(std::size(kAllKeySets))], count, random());
}

/// Thread-safety: one thread.
template <class Env>
class World {
 public:
  explicit World(std::uint64_t seed, fault what = fault::none)
      : random_(seed),
        options_(draw_world(random_)),
        machine_(options_.runtime),
        env_(machine_.runtime),
        tree_(machine_.runtime, options_.tree),
        keys_(world_keys(typename Env::OwnedKey{}, options_.keys, random_)),
        stepper_(machine_.runtime, machine_.clock, random_, bells_, complaints_, options_.interruptions_in_64,
                 options_.uneven_speed),
        errands_(machine_.runtime, stepper_, random_, complaints_, what),
        interference_(machine_.runtime, machine_.clock, tree_, random_, options_.short_of_memory),
        fault_(what) {
    index::testing::interruption() = [this] { stepper_.meanwhile(); };
    const std::size_t workers = machine_.runtime.worker_count();
    bells_.rung.resize(workers);
    bells_.lost_of_8 = what == fault::lost_wake_up ? 4 : 0;
    bells_.random = &random_;
    // One client clears: whether several clears at once can be explained takes too long to find out.
    const unsigned clears = random_.below(3) == 0 ? 30 : 0;
    const bool merges = seed / 8 % 3 == 0;  // the other worlds are as they were without merges
    for (std::size_t i = 0; i < workers; ++i) {
      index::testing::LoadOptions load;
      load.seed = random_();
      load.operations = options_.operations;
      load.in_flight = 1 + random_.below(16);
      load.scans_in_64 = static_cast<unsigned>(random_.below(9));
      load.clears_in_1024 = i == 0 ? clears : 0;
      load.merges_in_64 = merges ? static_cast<unsigned>(1 + load.seed % 8) : 0;
      load.wave = options_.wave;
      load.disturb = random_.below(2) == 0;
      load.meanwhile = [this] { stepper_.meanwhile(); };
      clients_.emplace_back(bells_, i, options_.errands, tree_, env_, keys_, ticks_, load);
      clients_.back().set_errands(errands_, random_);
      machine_[i].set_poller(clients_.back());
    }
  }

  World(const World&) = delete;
  World& operator=(const World&) = delete;
  ~World() { index::testing::interruption() = nullptr; }

  Report run() {
    constexpr std::uint64_t kMost = 1'000'000;
    constexpr std::uint64_t kUnrest =
        8'000;  // then it gets calm: moving versions could go on defeating writers
    const std::uint64_t last = options_.ends_early ? random_.below(400) : kMost;
    std::uint64_t round = 0;
    bool moves = true;
    while (moves && round < last && complaints_.empty()) {
      moves = stepper_.go_on();
      if (++round < kUnrest) {
        interference_.interfere();
      } else {
        become_calm();
      }
    }
    become_calm();
    if (complaints_.empty() && !options_.ends_early) {
      complaints_.unless(round < last, "the workers never come to rest");
      complaints_.unless(moves || finished(), "something waits though everybody sleeps");
    }
    return end();
  }

 private:
  [[nodiscard]] bool finished() const {
    return errands_.finished() &&
           std::all_of(clients_.begin(), clients_.end(),
                       [](const Client<Env>& client) { return client.finished() && client.started_all(); });
  }

  void become_calm() {
    stepper_.calm_down();
    interference_.end();
  }

  Report end() {
    Report report;
    for (std::size_t i = 0; i < machine_.runtime.worker_count(); ++i) {
      const runtime::WorkerCounters& counters = machine_[i].counters();
      report.worker_wakes += counters.wakes.load();
      report.pools_stolen += counters.pools_stolen.load();
      report.immediate_of_others +=
          counters.refills[1].load() + counters.refills[4].load() + counters.refills[5].load();
      report.deferred += counters.refills[2].load();
      report.deferred_far += counters.refills[3].load();
      report.pools_moved += counters.pools_moved.load();
      report.objects_moved += counters.objects_moved.load();
      report.forwarded += counters.forwarded.load();
      report.retries += counters.retries.load();
      report.reclaimed += counters.reclaimed.load();
      report.turned += counters.turned_hot.load() + counters.turned_cold.load();
    }
    if (fault_ == fault::kept_block) {
      static_cast<void>(machine_[0].items().allocate(100));
    }
    machine_.runtime.drain_stopped();
    errands_.check();
    if (complaints_.empty()) {
      check_histories(report);
    }
    check_tree(report);
    check_memory(machine_.runtime, tree_, complaints_);
    report.interruptions = stepper_.interruptions();
    report.parks = stepper_.parks();
    report.misplaced = errands_.misplaced();
    report.stage_conflicts = errands_.torn();
    report.fingerprint = (stepper_.steps() * 31 + ticks_.load()) * 31 + errands_.fingerprint();
    for (const std::string& complaint : complaints_.all()) {
      report.complaints.push_back(complaint);
    }
    if (!report.complaints.empty()) {
      report.complaints.push_back("the world: " + describe(options_));
    }
    return report;
  }

  void check_histories(Report& report) {
    typename Client<Env>::Histories histories;
    for (const Client<Env>& client : clients_) {
      complaints_.unless(client.scans_in_order(), "a scan was out of order");
      client.tell(histories);
      report.out_of_memory += client.failed();
    }
    complaints_.unless(report.out_of_memory == 0 || options_.short_of_memory,
                       "out of memory, though there was some");
    for (const auto& [key, history] : histories) {
      if (const auto wrong = history.contradiction()) {
        complaints_.add("key " + ::testing::PrintToString(key) + ": " + *wrong);
      }
    }
  }

  void check_tree(Report& report) {
    const index::CheckReport tree = index::Checker<typename Env::Traits>::check(tree_);
    for (const std::string& error : tree.errors) {
      complaints_.add("tree: " + error);
    }
    complaints_.unless(tree.pending == 0 || options_.short_of_memory || options_.ends_early,
                       "a node's separator was never posted");
    complaints_.unless(tree.frozen == 0 || options_.ends_early, "a node was frozen and never unlinked");
    complaints_.unless(tree.claimed == 0 || options_.ends_early, "a node waits to be unlinked");
    complaints_.unless(tree.left_over == 0 || options_.ends_early, "a node was not unlinked");
    report.deep_trees = tree.levels > 2 ? 1 : 0;
    index::UnlinkCounters& unlinks = tree_.unlinks();
    report.unlinked = unlinks.leaves.load();
    report.merged = unlinks.merges.load();
    report.folded = unlinks.branches.load();
    report.fold_undone = unlinks.undone.load();
    report.unlink_waits = unlinks.waits.load();
  }

  runtime::Random random_;
  WorldOptions options_;
  Complaints complaints_;
  Bells bells_;
  std::deque<Client<Env>> clients_;  // outlive the runtime, as the bells: its end wakes the workers
  runtime::testing::Machine machine_;
  Env env_;
  index::Tree<typename Env::Traits> tree_;
  std::vector<typename Env::OwnedKey> keys_;
  std::atomic<std::uint64_t> ticks_{0};
  Stepper stepper_;
  Errands errands_;
  Interference<typename Env::Traits> interference_;
  fault fault_;
};

}  // namespace mxkv::simulation
