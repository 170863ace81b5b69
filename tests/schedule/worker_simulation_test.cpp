// Several workers on one thread, with a seeded choice of who goes on: tasks spawn tasks all over the machine,
// workers park and are woken, objects are replaced, retired and reclaimed. Whoever runs when: every task runs
// once, bound ones in their pool, nothing is read after it was freed, and everything comes to rest.
#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <vector>

#include "runtime/base/random.hpp"
#include "tests/unit/scheduler/machine.hpp"

namespace mxkv::testing {
namespace {

using runtime::access;
using runtime::MxTask;
using runtime::Random;
using runtime::RuntimeOptions;
using runtime::step;
using runtime::Worker;
using runtime::WorkerId;
using runtime::testing::Bell;
using runtime::testing::Machine;
using runtime::testing::Words;

/// What readers may still look at; `freed` tells on them.
struct Payload {
  bool freed = false;
};

class Simulation {
 public:
  static constexpr std::size_t kWorkers = 3;
  static constexpr std::size_t kObjects = 5;

  explicit Simulation(std::uint64_t seed) : random_(seed), machine_(options(random_)) {
    kind_ = machine_.runtime.add_reclaim_kind([](Worker&, void* payload) {
      auto& typed = *static_cast<Payload*>(payload);
      EXPECT_FALSE(typed.freed) << "freed twice";
      typed.freed = true;
    });
    for (std::size_t i = 0; i < kWorkers; ++i) {
      machine_[i].set_poller(bells_[i]);
    }
    for (std::size_t i = 0; i < kObjects; ++i) {
      objects_.emplace_back(machine_.runtime.pool_for_object(some_worker(), random_()),
                            i % 2 == 0 ? runtime::primitive::serialized_by_scheduling
                                       : runtime::primitive::optimistic_scheduling);
      shown_.push_back(&payloads_.emplace_back());
    }
  }

  void run() {
    for (int i = 0; i < 20; ++i) {
      machine_.runtime.submit(chain(machine_[random_.below(kWorkers)], static_cast<int>(random_.below(30))),
                              some_worker());
    }
    for (std::uint64_t round = 0; !all_asleep(); ++round) {
      ASSERT_LT(round, 200'000U) << "never comes to rest";
      go_on(random_.below(kWorkers));
    }
    EXPECT_EQ(ran_, spawned_) << "a task waits though everybody sleeps";
    std::uint64_t written = 0;
    for (const Words<>& object : objects_) {
      written += object.words[0].load();
    }
    EXPECT_EQ(written, writes_);
  }

 private:
  static RuntimeOptions options(Random& random) {
    RuntimeOptions options = runtime::testing::unpinned(kWorkers);
    options.prefetch.window = 1 + static_cast<std::uint32_t>(random.below(5));
    options.batch_tasks = 1 + static_cast<std::uint32_t>(random.below(20));
    options.epoch.interval_ms = 1;
    return options;
  }
  WorkerId some_worker() { return WorkerId{static_cast<std::uint16_t>(random_.below(kWorkers))}; }

  /// A task that hops around `hops` times, holding a pin and a payload that it found at its start.
  MxTask* chain(Worker& worker, int hops) {
    ++spawned_;
    return runtime::testing::lambda_task(
        worker, [this, left = hops, held = static_cast<Payload*>(nullptr)](MxTask& self, Worker& on) mutable {
          EXPECT_EQ(Worker::current(), &on);
          if (held == nullptr) {
            on.pin(self);
            held = shown_[random_.below(kObjects)];
          }
          EXPECT_FALSE(held->freed) << "read under a pin, after it was freed";
          if (self.object() && self.annotations().access == access::write) {
            EXPECT_TRUE(on.leases(self.object().object()->pool())) << "a bound task outside of its pool";
            auto& object = *static_cast<Words<>*>(self.object().object());
            object.words[0].store(object.words[0].load() + 1);
            ++writes_;
          }
          if (left-- == 0) {
            ++ran_;
            return step::done;
          }
          return hop(self, on);
        });
  }

  step hop(MxTask& self, Worker& on) {
    const std::size_t object = random_.below(kObjects);
    self.annotate(WorkerId{runtime::Annotations::kAnyWorker});
    self.annotate(access::readonly);
    self.annotate(runtime::TaggedPointer{}, 0);
    switch (random_.below(7)) {
      case 0:
        self.annotate(some_worker());
        return step::again;
      case 1:
        self.annotate(objects_[object].tagged(), 64);
        self.annotate(access::write);
        return step::again;
      case 2:
        on.retire(shown_[object], kind_, 1);
        shown_[object] = &payloads_.emplace_back();
        return step::again;
      case 3:
        on.spawn(chain(on, static_cast<int>(random_.below(3))));
        return step::again;
      case 4:
        return step::retry;
      case 5:
        return step::now;
      default:
        self.annotate(random_.below(2) == 0 ? runtime::priority::low : runtime::priority::normal);
        return step::again;
    }
  }

  void go_on(std::size_t worker) {
    if (asleep_[worker] && std::exchange(bells_[worker].rung, 0) == 0) {
      // Only time wakes it: it has retired objects to look after.
      if (machine_[worker].retired_objects() == 0) {
        return;
      }
      machine_.clock.advance_us(1000);
    }
    if (std::exchange(asleep_[worker], false)) {
      machine_[worker].unpark();
    }
    if (!machine_[worker].step()) {
      asleep_[worker] = machine_[worker].prepare_to_park();
    }
  }
  [[nodiscard]] bool all_asleep() {
    for (std::size_t i = 0; i < kWorkers; ++i) {
      if (!asleep_[i] || bells_[i].rung != 0 || machine_[i].retired_objects() != 0) {
        return false;
      }
    }
    return true;
  }

  Random random_;
  std::array<Bell, kWorkers> bells_;
  std::array<bool, kWorkers> asleep_{};
  std::deque<Payload> payloads_;
  std::vector<Payload*> shown_;  ///< what a look at object i finds
  std::deque<Words<>> objects_;
  std::uint64_t spawned_ = 0;
  std::uint64_t ran_ = 0;
  std::uint64_t writes_ = 0;
  runtime::ReclaimKind kind_{};
  Machine machine_;
};

TEST(WorkerSimulation, EverythingRunsOnceAndComesToRestInRandomOrders) {
  for (std::uint64_t seed = 0; seed < 60 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Simulation{seed}.run();
  }
}

}  // namespace
}  // namespace mxkv::testing
