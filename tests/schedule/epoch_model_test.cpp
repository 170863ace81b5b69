// Epochs in random orders of all possible events: workers enter and leave, requests pin, wander between
// workers and end, objects are unlinked and reclaimed. No object is freed while a pointer to it is held that
// was found under a pin or in a worker's epoch. When all workers are done, everything is freed.
#include <gtest/gtest.h>

#include <deque>
#include <set>
#include <utility>
#include <vector>

#include "runtime/base/random.hpp"
#include "runtime/epoch/epoch_manager.hpp"

namespace mxkv::testing {
namespace {

using runtime::EpochManager;
using runtime::Random;
using runtime::WorkerId;

struct Object {
  bool freed = false;
};
using Pointers = std::set<Object*>;

struct Request {
  WorkerId on;
  std::uint8_t slot;
  Pointers held;
};

struct Retired {
  Object* object;
  std::uint64_t stamp;
};

class Model {
 public:
  Model(std::uint64_t seed, std::size_t workers) : random_(seed), epochs_(workers), workers_(workers) {
    for (std::size_t i = 0; i < 6; ++i) {
      cells_.push_back(&objects_.emplace_back());
    }
  }

  void run(int steps) {
    for (int i = 0; i < steps; ++i) {
      const std::size_t worker = random_.below(workers_.size());
      act(random_.below(100), worker);
      if (::testing::Test::HasFailure()) {
        return;
      }
    }
    come_to_rest();
  }
  std::uint64_t advances = 0;
  std::uint64_t refusals = 0;
  std::uint64_t freed = 0;

 private:
  struct WorkerState {
    Pointers held;  ///< found since it entered its epoch, without a pin
    std::vector<Retired> retired;
    std::uint64_t known_horizon = 0;  ///< asked for earlier, used later
  };

  static WorkerId id(std::size_t worker) { return WorkerId{static_cast<std::uint16_t>(worker)}; }
  bool inside(std::size_t worker) { return epochs_.published(id(worker)) != EpochManager::kInfinity; }

  void act(std::uint64_t dice, std::size_t worker) {
    WorkerState& state = workers_[worker];
    if (dice < 12) {
      state.held.clear();  // a batch ends: only pinned pointers live on
      epochs_.enter(id(worker));
    } else if (dice < 17) {
      state.held.clear();
      epochs_.leave(id(worker));
    } else if (dice < 29) {
      begin_request(worker);
    } else if (dice < 50) {
      look(worker);
    } else if (dice < 58) {
      wander(worker);
    } else if (dice < 70) {
      end_request();
    } else if (dice < 82) {
      replace(worker);
    } else if (dice < 90) {
      (epochs_.try_advance() ? advances : refusals) += 1;
    } else if (dice < 95) {
      state.known_horizon = epochs_.horizon();
    } else {
      reclaim(state);
    }
  }
  void begin_request(std::size_t worker) {
    if (inside(worker)) {
      requests_.push_back({.on = id(worker), .slot = epochs_.pin(id(worker)), .held = {}});
    }
  }
  void look(std::size_t worker) {
    Object* found = cells_[random_.below(cells_.size())];
    EXPECT_FALSE(found->freed) << "freed though it was never unlinked";
    if (inside(worker) && random_.below(2) == 0) {
      workers_[worker].held.insert(found);
    } else if (!requests_.empty()) {
      Request& request = requests_[random_.below(requests_.size())];
      if (inside(request.on.index())) {  // tasks run only where their worker is in an epoch
        request.held.insert(found);
      }
    }
  }
  void wander(std::size_t worker) {
    if (!requests_.empty()) {
      requests_[random_.below(requests_.size())].on = id(worker);
    }
  }
  void end_request() {
    // Some requests last long: the older ones are picked less often.
    if (!requests_.empty() && random_.below(3) != 0) {
      const std::size_t at = requests_.size() - 1 - random_.below(1 + requests_.size() / 2);
      epochs_.unpin(requests_[at].on, requests_[at].slot);
      requests_.erase(requests_.begin() + static_cast<std::ptrdiff_t>(at));
    }
  }
  void replace(std::size_t worker) {
    Object*& cell = cells_[random_.below(cells_.size())];
    Object* unlinked = std::exchange(cell, &objects_.emplace_back());
    workers_[worker].retired.push_back({.object = unlinked, .stamp = epochs_.retire_stamp()});
  }
  void reclaim(WorkerState& state) {
    std::erase_if(state.retired, [this, &state](const Retired& retired) {
      if (retired.stamp >= state.known_horizon) {
        return false;
      }
      retired.object->freed = true;
      ++freed;
      for (const Request& request : requests_) {
        EXPECT_FALSE(request.held.contains(retired.object)) << "freed under a pin";
      }
      for (const WorkerState& reader : workers_) {
        EXPECT_FALSE(reader.held.contains(retired.object)) << "freed in a worker's epoch";
      }
      return true;
    });
  }
  void come_to_rest() {
    while (!requests_.empty()) {
      epochs_.unpin(requests_.back().on, requests_.back().slot);
      requests_.pop_back();
    }
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      workers_[i].held.clear();
      epochs_.leave(id(i));
    }
    EXPECT_TRUE(epochs_.try_advance());
    EXPECT_TRUE(epochs_.try_advance());
    for (WorkerState& state : workers_) {
      state.known_horizon = epochs_.horizon();
      reclaim(state);
      EXPECT_TRUE(state.retired.empty()) << "nobody holds anything, and still it is not freed";
    }
  }

  Random random_;
  EpochManager epochs_;
  std::deque<Object> objects_;
  std::vector<Object*> cells_;
  std::vector<WorkerState> workers_;
  std::vector<Request> requests_;
};

TEST(EpochModel, NothingIsFreedWhileItIsHeldAndEverythingIsFreedInTheEnd) {
  std::uint64_t advances = 0;
  std::uint64_t refusals = 0;
  std::uint64_t freed = 0;
  for (std::uint64_t seed = 0; seed < 150 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Model model{seed, 1 + seed % 4};
    model.run(3000);
    advances += model.advances;
    refusals += model.refusals;
    freed += model.freed;
  }
  EXPECT_GT(advances, 1000U);
  EXPECT_GT(refusals, 100U) << "the slots went round";
  EXPECT_GT(freed, 10'000U);
}

}  // namespace
}  // namespace mxkv::testing
