// A thread of a simulated process that stands still on its own, and a worker on such a thread: rounds with clients'
// requests, replies that are held, and sleep.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/clock.hpp"
#include "server/cluster/epoch_pipeline.hpp"
#include "server/cluster/routes.hpp"
#include "tests/simulation/shards_memory.hpp"

namespace mxkv::simulation {

/// Runs actions when it runs. Thread-safety: one thread.
class SimThread {
 public:
  void run(Timeline::Action action) {
    if (ended_) {
      return;
    }
    if (still_ > 0 || !waiting_.empty()) {
      waiting_.push_back(std::move(action));
    } else {
      action();
    }
  }
  /// As often as go_on(), which has it run again.
  void stand_still() { ++still_; }
  void go_on() {
    still_ -= still_ > 0 ? 1 : 0;
    while (still_ == 0 && !ended_ && !waiting_.empty()) {
      const Timeline::Action action = std::move(waiting_.front());
      action();
      if (!waiting_.empty()) {
        waiting_.pop_front();
      }
    }
  }
  void end() { ended_ = true; }
  [[nodiscard]] bool stands_still() const noexcept { return still_ > 0; }

 private:
  std::deque<Timeline::Action> waiting_;
  int still_ = 0;
  bool ended_ = false;
};

/// A client's request, and its answer.
struct ShardsRequest {
  enum class what : std::uint8_t { get, set, remove };
  enum class answer : std::uint8_t { none, value, refused };
  std::uint64_t id = 0;
  std::uint32_t key = 0;
  what asks = what::get;
  bool takes_stale = false;  ///< a replica's answer will do
  bool by_replica = false;   ///< it was one
  std::uint64_t invoked_ns = 0;
  std::uint64_t answered_ns = 0;
  answer told = answer::none;
  std::optional<std::uint64_t> found;
  std::uint64_t node = 0;   ///< that changed its memory for it; 0: none did
  std::uint64_t order = 0;  ///< of that change
};

/// The number in an item's value.
[[nodiscard]] std::uint64_t number_in(const std::string& value);

/// Of replicas' answers, by the clock of their node.
inline constexpr std::uint64_t kStalenessNs = 500 * kMs;

/// The rules that a proof breaks in the simulated process.
struct ShardsRules {
  bool asks_the_clock_late = true;       ///< of the lease; else the clock at the round's beginning counts
  bool gives_up_what_waits = true;       ///< gives up waiting replies when failures() moves on
  bool gives_up_under_way = true;        ///< gives up requests that have begun when drops() moves on
  bool gives_up_reads_of_copies = true;  ///< the same for copies that are dropped
};

/// Counts of workers.
struct WorkerPaths {
  std::uint64_t held = 0;
  std::uint64_t given_up = 0;
  std::uint64_t stragglers = 0;  ///< done when their shard was not here any more
  std::uint64_t slow = 0;        ///< writes that waited for long, as for an earlier one that was forwarded
  std::uint64_t parked = 0;
  std::uint64_t by_replica = 0;
  std::uint64_t overtaken = 0;  ///< requests under way that were given up, as memory was dropped under them
  std::uint64_t overtaken_at_copies = 0;
};

/// Thread-safety: one thread.
class ShardsWorker {
 public:
  struct Place {
    Timeline& timeline;
    Dice& dice;
    const runtime::Clock& clock;
    server::Routes& routes;
    server::EpochPipeline& pipeline;
    ShardsMemory& memory;
    const std::vector<std::string>& keys;
    std::uint64_t node = 0;
    runtime::WorkerId id;
    ShardsRules rules;
  };

  explicit ShardsWorker(const Place& place) : place_(place), changes_(place.routes.changes().add_worker()) {}

  /// Any caller: it begins a round soon, if it is in none.
  void wake();
  /// `request` came in, and lives as long as the world.
  void arrive(ShardsRequest& request);

  SimThread thread;
  [[nodiscard]] const WorkerPaths& paths() const noexcept { return paths_; }

  /// `what` runs in its next round: behind its look at the clock, or, once there is work, between its look at
  /// the routes and the work.
  void stall_before_serving(std::function<void()> what) { before_serving_ = std::move(what); }
  void stall_before_work(std::function<void()> what) { before_work_ = std::move(what); }
  /// Many reads are slow from now on, or few.
  void slow_reads_down(bool many) noexcept { slow_reads_ = many; }

 private:
  std::function<void()> before_serving_;
  std::function<void()> before_work_;
  struct Begun {
    ShardsRequest* request;
    std::uint64_t at_ns;  ///< is done in a round from then on
    server::BegunChanges::Mark mark;
    bool given_up = false;  ///< nobody gets its answer
  };
  struct Held {
    ShardsRequest* request;
    std::uint64_t epoch;
  };

  void soon(void (ShardsWorker::*part)(), std::uint64_t most_ns);
  void begin_round();
  void give_up_under_way();
  void serve();
  void work();
  void end_round();
  void take(ShardsRequest& request);
  void execute(ShardsRequest& request);
  void answer(ShardsRequest& request, ShardsRequest::answer told);

  Place place_;
  server::BegunChanges& changes_;
  bool in_round_ = false;
  bool slow_reads_ = false;
  std::uint64_t began_ns_ = 0;
  std::uint64_t mint_us_ = 0;
  std::uint64_t horizon_us_ = 0;
  std::uint64_t broken_ = 0;
  server::CommitGate::Drops drops_;
  std::deque<ShardsRequest*> arrived_;
  std::vector<Begun> begun_;
  std::vector<ShardsRequest*> done_;      ///< in this round, and their replies need nothing
  std::vector<ShardsRequest*> awaiting_;  ///< in this round; replies may show changes that are not durable
  std::deque<Held> held_;
  WorkerPaths paths_;
};

}  // namespace mxkv::simulation
