// The rebalancer's choices: on invented machines of one, two and four nodes, and that it comes to rest.
#include "runtime/scheduler/rebalancing/rebalance.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "runtime/base/random.hpp"

namespace mxkv::runtime {
namespace {

using Loads = std::vector<std::uint64_t>;

WorkerId worker_id(std::size_t id) {
  return WorkerId{static_cast<WorkerId::rep>(id)};
}
PoolId pool_id(std::size_t id) {
  return PoolId{static_cast<PoolId::rep>(id)};
}

/// Workers spread evenly over nodes, each with a pinned pool and some for objects, in this order.
struct LoadedMachine {
  LoadedMachine(std::size_t nodes, std::size_t workers_a_node, const std::vector<Loads>& loads) {
    for (std::size_t w = 0; w < nodes * workers_a_node; ++w) {
      workers.push_back({.node = NumaNodeId{static_cast<std::uint16_t>(w / workers_a_node)}, .room = 8});
      pools.push_back({.owner = worker_id(w), .tasks = 0, .movable = false, .for_objects = false});
      for (const std::uint64_t tasks : w < loads.size() ? loads[w] : Loads{}) {
        pools.push_back({.owner = worker_id(w), .tasks = tasks, .movable = true});
      }
    }
  }
  [[nodiscard]] std::vector<PoolMove> choose() const { return choose_pool_moves(rules, workers, pools); }
  [[nodiscard]] Loads loads() const {
    Loads sum(workers.size());
    for (std::size_t w = 0; w < workers.size(); ++w) {
      sum[w] = workers[w].fixed;
    }
    for (const PoolLoad& load : pools) {
      sum[load.owner.index()] += load.tasks;
    }
    return sum;
  }
  [[nodiscard]] std::uint64_t greatest() const {
    const Loads all = loads();
    return *std::max_element(all.begin(), all.end());
  }
  /// Chooses and moves until no move is left; returns how many moves that took.
  std::size_t settle() {
    for (std::size_t moves = 0;;) {
      const std::vector<PoolMove> chosen = choose();
      if (chosen.empty() || moves > 1000) {
        return moves;
      }
      moves += chosen.size();
      for (const PoolMove& move : chosen) {
        EXPECT_EQ(pools[move.pool.index()].owner, move.from);
        pools[move.pool.index()].owner = move.to;
      }
    }
  }

  RebalanceRules rules{};
  std::vector<WorkerLoad> workers;
  std::vector<PoolLoad> pools;
};

struct PoolCase {
  const char* name;
  std::size_t nodes;
  std::size_t workers_a_node;
  std::vector<Loads> loads;     ///< by worker: of its pools but the pinned one
  std::vector<PoolMove> moves;  ///< expected
};

// Worker w's pools have the numbers after the pools of the workers before, its pinned one first.
const PoolCase kPoolCases[] = {
    {"one worker has nobody to give to", 1, 1, {{90'000, 90'000}}, {}},
    {"balanced workers stay as they are", 1, 2, {{50'000, 50'000}, {50'000, 50'000}}, {}},
    {"a little more is left alone", 1, 2, {{55'000, 50'000}, {45'000, 45'000}}, {}},
    {"all load on one of two: half of it goes, in large steps",
     1,
     2,
     {{50'000, 50'000, 50'000, 50'000}, {0, 0, 0, 0}},
     {{pool_id(1), worker_id(0), worker_id(1)}, {pool_id(2), worker_id(0), worker_id(1)}}},
    {"the pool that fits goes, not the greatest",
     1,
     2,
     {{80'000, 30'000, 10'000}, {60'000}},
     {{pool_id(2), worker_id(0), worker_id(1)}}},
    {"a single hot pool stays, and what is beside it goes",
     1,
     2,
     {{200'000, 30'000, 20'000}, {10'000}},
     {{pool_id(2), worker_id(0), worker_id(1)}, {pool_id(3), worker_id(0), worker_id(1)}}},
    {"a single hot pool with nothing beside it", 1, 2, {{200'000}, {10'000}}, {}},
    {"idle workers are not worth it", 1, 2, {{4000, 4000}, {0}}, {}},
    {"two swap where neither pool alone helps",
     1,
     2,
     {{60'000, 60'000, 60'000}, {60'000, 15'000, 15'000, 15'000, 15'000}},
     {{pool_id(1), worker_id(0), worker_id(1)}, {pool_id(6), worker_id(1), worker_id(0)}}},
    {"the least loaded of four gets it",
     1,
     4,
     {{60'000, 40'000}, {50'000}, {20'000}, {45'000}},
     {{pool_id(2), worker_id(0), worker_id(2)}}},
    {"the own node first, though another has a little less",
     2,
     2,
     {{60'000, 60'000}, {10'000}, {0}, {60'000}},
     {{pool_id(1), worker_id(0), worker_id(1)}, {pool_id(4), worker_id(1), worker_id(2)}}},
    {"another node where the own one is full",
     2,
     2,
     {{60'000, 60'000}, {110'000}, {5'000}, {0}},
     {{pool_id(1), worker_id(0), worker_id(3)}}},
    {"another node must gain more: 15 % would do on the own node", 2, 1, {{15'000, 85'000}, {66'000}}, {}},
    {"the same on the own node",
     1,
     2,
     {{15'000, 85'000}, {66'000}},
     {{pool_id(1), worker_id(0), worker_id(1)}}},
    {"four nodes: the most loaded node spreads over the others",
     4,
     1,
     {{40'000, 40'000, 40'000, 40'000}, {0}, {0}, {0}},
     {{pool_id(1), worker_id(0), worker_id(1)},
      {pool_id(2), worker_id(0), worker_id(2)},
      {pool_id(3), worker_id(0), worker_id(3)}}},
};

TEST(RebalanceTest, MovesOfPoolsAreTheTablesMoves) {
  for (const PoolCase& row : kPoolCases) {
    SCOPED_TRACE(row.name);
    LoadedMachine machine{row.nodes, row.workers_a_node, row.loads};
    EXPECT_EQ(machine.choose(), row.moves);
  }
}

TEST(RebalanceTest, PinnedPoolsAndThoseAtRestStay) {
  LoadedMachine machine{1, 2, {{90'000, 90'000, 90'000}, {}}};
  machine.pools[0].tasks = 80'000;  // pinned
  machine.pools[1].movable = false;
  machine.pools[3].movable = false;
  EXPECT_EQ(machine.choose(), (std::vector{PoolMove{pool_id(2), worker_id(0), worker_id(1)}}));
}

TEST(RebalanceTest, LoadThatCannotMoveCounts) {
  LoadedMachine machine{1, 2, {{50'000, 50'000}, {50'000, 50'000}}};
  machine.workers[0].fixed = 100'000;
  EXPECT_EQ(machine.choose(), (std::vector{PoolMove{pool_id(1), worker_id(0), worker_id(1)}}));
}

TEST(RebalanceTest, NobodyGetsMorePoolsThanItHasRoomFor) {
  LoadedMachine machine{1, 2, {{50'000, 50'000, 50'000, 50'000}, {}}};
  machine.workers[1].room = 1;
  EXPECT_EQ(machine.choose().size(), 1U);
  machine.workers[1].room = 0;
  EXPECT_TRUE(machine.choose().empty());
}

TEST(RebalanceTest, MovesOfOnePeriodAreFew) {
  LoadedMachine machine{1, 8, {Loads(40, 10'000)}};
  EXPECT_EQ(machine.choose().size(), machine.rules.most_moves);
}

TEST(RebalanceTest, AnyLoadComesToRestAndTheGreatestNeverGrows) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    Random random{seed};
    const std::size_t nodes = std::size_t{1} << random.below(3);
    std::vector<Loads> loads(nodes * (1 + random.below(3)));
    for (Loads& pools : loads) {
      pools.resize(1 + random.below(6));
      for (std::uint64_t& tasks : pools) {
        tasks = random.below(4) == 0 ? random.below(1'000'000) : random.below(20'000);
      }
    }
    LoadedMachine machine{nodes, loads.size() / nodes, loads};
    const std::uint64_t before = machine.greatest();
    EXPECT_LE(machine.settle(), 40U) << "flaps";
    EXPECT_LE(machine.greatest(), before);
    EXPECT_TRUE(machine.choose().empty()) << "and stays at rest";
  }
}

TEST(RebalanceTest, NoiseOfFivePercentMovesNothingInSettledPools) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    Random random{seed};
    LoadedMachine machine{2, 2, {Loads(8, 30'000), {}, {}, {}}};
    machine.settle();
    const std::vector<PoolLoad> settled = machine.pools;
    for (int period = 0; period < 20; ++period) {
      for (std::size_t i = 0; i < settled.size(); ++i) {
        machine.pools[i].tasks = settled[i].tasks * (95 + random.below(11)) / 100;
      }
      EXPECT_TRUE(machine.choose().empty());
    }
  }
}

// Objects: names are addresses that are never followed.

const DataObject* object_named(std::uintptr_t number) {
  return reinterpret_cast<const DataObject*>(number * 64);
}

struct ObjectCase {
  const char* name;
  std::vector<Loads> pools;  ///< by worker, two nodes of one worker each
  std::vector<ObjectLoad> objects;
  std::vector<ObjectMove> moves;  ///< expected
};

const ObjectCase kObjectCases[] = {
    {"a hot object alone in its pool stays",
     {{100'000, 0}, {50'000}},
     {{object_named(1), pool_id(1), 100'000}},
     {}},
    {"two hot objects in one pool part",
     {{100'000, 0}, {100'000}},
     {{object_named(1), pool_id(1), 50'000}, {object_named(2), pool_id(1), 50'000}},
     {{object_named(1), pool_id(1), pool_id(2)}}},
    {"the others of a hot object's pool go where there is least",
     {{130'000, 40'000, 10'000}, {120'000}},
     {{object_named(1), pool_id(1), 100'000}, {object_named(2), pool_id(1), 30'000}},
     {{object_named(2), pool_id(1), pool_id(3)}}},
    {"the hot one itself goes where fewer are",
     {{150'000, 0}, {100'000}},
     {{object_named(1), pool_id(1), 100'000}},
     {{object_named(1), pool_id(1), pool_id(2)}}},
    {"a pool that is not crowded is left alone",
     {{20'000, 20'000, 20'000, 20'000}, {80'000}},
     {{object_named(1), pool_id(1), 10'000}},
     {}},
    {"what gains little stays", {{100'000, 95'000}, {195'000}}, {{object_named(1), pool_id(1), 20'000}}, {}},
    {"an idle machine is left alone", {{5000, 0}, {0}}, {{object_named(1), pool_id(1), 2500}}, {}},
    {"the other node is no place for what its worker cannot take",
     {{100'000}, {150'000, 0}},
     {{object_named(1), pool_id(1), 50'000}},
     {}},
    {"the other node's worker is less loaded by far",
     {{100'000}, {0}},
     {{object_named(1), pool_id(1), 50'000}},
     {{object_named(1), pool_id(1), pool_id(3)}}},
    {"never into, nor out of, a pinned pool", {{}, {100'000}}, {{object_named(1), pool_id(1), 50'000}}, {}},
};

TEST(RebalanceTest, MovesOfObjectsAreTheTablesMoves) {
  for (const ObjectCase& row : kObjectCases) {
    SCOPED_TRACE(row.name);
    const LoadedMachine machine{2, 1, row.pools};
    EXPECT_EQ(choose_object_moves(machine.rules, machine.workers, machine.pools, row.objects), row.moves);
  }
}

TEST(RebalanceTest, ObjectsComeToRestAndCrowdedPoolsThinOut) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    Random random{seed};
    LoadedMachine machine{2, 2, {Loads(4, 0), Loads(4, 0), Loads(4, 0), Loads(4, 0)}};
    std::vector<ObjectLoad> objects;
    for (std::size_t i = 1; i <= 24; ++i) {
      const std::size_t at = i % machine.pools.size();
      if (machine.pools[at].for_objects) {
        objects.push_back(
            {object_named(i), pool_id(at), random.below(5) == 0 ? 100'000 : random.below(10'000)});
        machine.pools[at].tasks += objects.back().tasks;
      }
    }
    const auto greatest = [&machine] {
      std::uint64_t most = 0;
      for (const PoolLoad& load : machine.pools) {
        most = std::max(most, load.tasks);
      }
      return most;
    };
    const std::uint64_t before = greatest();
    std::size_t moves = 0;
    for (;;) {
      const auto chosen = choose_object_moves(machine.rules, machine.workers, machine.pools, objects);
      if (chosen.empty()) {
        break;
      }
      moves += chosen.size();
      ASSERT_LE(moves, 100U) << "flaps";
      for (const ObjectMove& move : chosen) {
        const auto moved = std::find_if(objects.begin(), objects.end(), [&move](const ObjectLoad& load) {
          return load.object == move.object;
        });
        ASSERT_EQ(moved->pool, move.from);
        machine.pools[move.from.index()].tasks -= moved->tasks;
        machine.pools[move.to.index()].tasks += moved->tasks;
        moved->pool = move.to;
      }
    }
    EXPECT_LE(greatest(), before);
  }
}

TEST(KeptPools, AreThoseWithoutWhichTheirOwnerHasNoMoreThanTheAverage) {
  // A hot pool beside the load that stays with the worker; the other worker has the same but for the hot
  // pool.
  LoadedMachine hot{1, 2, {{50'000, 100}, {200, 100}}};
  hot.workers[0].fixed = hot.workers[1].fixed = 40'000;
  EXPECT_EQ(choose_kept_pools(hot.rules, hot.workers, hot.pools),
            (std::vector<bool>{false, true, false, false, false, false}));
  // A worker that has all the work: thieves may take any of it.
  const LoadedMachine crowded{1, 2, {{20'000, 20'000, 20'000, 20'000}, {0}}};
  const std::vector<bool> kept = choose_kept_pools(crowded.rules, crowded.workers, crowded.pools);
  EXPECT_EQ(std::count(kept.begin(), kept.end(), true), 0);
  // Evenly loaded: nothing is to be gained.
  const LoadedMachine even{1, 2, {{20'000, 20'000}, {20'000, 20'000}}};
  EXPECT_EQ(choose_kept_pools(even.rules, even.workers, even.pools),
            (std::vector<bool>{false, true, true, false, true, true}));
}

TEST(KeptPools, AreNoneWhereAllHaveTime) {
  const LoadedMachine idle{1, 2, {{500, 20}, {100}}};
  const std::vector<bool> kept = choose_kept_pools(idle.rules, idle.workers, idle.pools);
  EXPECT_EQ(std::count(kept.begin(), kept.end(), true), 0);
}

}  // namespace
}  // namespace mxkv::runtime
