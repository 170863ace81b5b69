// The runtime under real threads, for ThreadSanitizer and AddressSanitizer: more workers than cores, that
// park at every chance. Tasks hop between workers, write objects in their pools or under their latches, read
// them optimistically everywhere, and replace memory that others look at. Meanwhile pools move from worker to
// worker and objects from pool to pool.
#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <latch>
#include <vector>

#include "runtime/scheduler/rebalancing/moves.hpp"
#include "tests/unit/scheduler/machine.hpp"

namespace mxkv::runtime {
namespace {

constexpr std::size_t kWorkers = 3;
constexpr std::size_t kObjects = 4;
constexpr std::uint64_t kMagic = 0x600DF00D600DF00D;

using Object = testing::Words<14>;  // two lines

/// A plain word: only mutual exclusion in the object's pool keeps accesses apart.
struct PlainObject : Object {
  using Object::Words;
  std::uint64_t plain = 0;
};

/// Memory that is replaced under its readers; released memory is poisoned for AddressSanitizer.
struct Record {
  std::uint64_t magic;
  std::uint64_t number;
};

struct World {
  std::deque<PlainObject> serialized;
  std::deque<Object> optimistic;  ///< all words of one are equal
  std::atomic<Record*> shown[kObjects]{};
  ReclaimKind records{};
  std::atomic<std::uint64_t> torn{0};
  std::atomic<std::uint64_t> dead{0};
  std::atomic<std::uint64_t> plain_writes{0};
  std::atomic<std::uint64_t> optimistic_writes{0};
  std::atomic<std::uint64_t> reads{0};
  std::latch* done = nullptr;
};

/// One request: `hops` accesses, each to a random object in a random way.
class Traveller final : public MxTask {
 public:
  struct Scratch {
    std::uint64_t words[14]{};
  };
  Traveller(const TaskClass* task_class, World& world, std::uint32_t hops)
      : MxTask(task_class), world_(&world), left_(hops) {}

  [[nodiscard]] bool staged() const { return false; }
  void inspect(const OptimisticRead& /*read*/, Scratch& scratch) const {
    const auto& words = static_cast<const Object*>(object().object())->words;
    for (std::size_t i = 0; i < std::size(words); ++i) {
      scratch.words[i] = words[i].load();
    }
  }
  step resume(Scratch& scratch, Worker& worker) {
    if (object()) {
      check(scratch);
    }
    return travel(worker);
  }
  bool prepare(Scratch& scratch, Worker& /*worker*/, step& /*otherwise*/) {
    check(scratch);
    return true;
  }
  void apply(Scratch& scratch, Worker& worker) {
    auto& words = static_cast<Object*>(object().object())->words;
    for (std::size_t i = 0; i < std::size(words); ++i) {
      words[i].store(scratch.words[0] + 1);
    }
    if (object().synchronization() == primitive::serialized_by_scheduling) {
      ++static_cast<PlainObject*>(object().object())->plain;
      world_->plain_writes.fetch_add(1, std::memory_order_relaxed);
      if (worker.random().below(16) == 0) {  // to wherever another object is
        const std::size_t other = worker.random().below(kObjects);
        runtime::move_object(worker, *object().object(), object().object()->pool(),
                             world_->serialized[other].pool());
      }
    } else {
      world_->optimistic_writes.fetch_add(1, std::memory_order_relaxed);
    }
  }
  void abandon(Scratch& /*scratch*/, Worker& /*worker*/) {}
  step finish(Scratch& /*scratch*/, Worker& worker) { return travel(worker); }
  step conflict(Worker& /*worker*/) { return step::again; }
  void discard(Worker& /*worker*/) { world_->done->count_down(); }

 private:
  void check(const Scratch& scratch) {
    world_->reads.fetch_add(1, std::memory_order_relaxed);
    for (const std::uint64_t word : scratch.words) {
      if (word != scratch.words[0]) {
        world_->torn.fetch_add(1);
      }
    }
  }

  step travel(Worker& worker) {
    if (held_ != nullptr && held_->magic != kMagic) {
      world_->dead.fetch_add(1);
    }
    if (left_-- == 0) {
      world_->done->count_down();
      return step::done;
    }
    annotate(WorkerId{Annotations::kAnyWorker});
    annotate(TaggedPointer{}, 0);
    annotate(access::readonly);
    Random& random = worker.random();
    const std::size_t at = random.below(kObjects);
    if (random.below(64) == 0) {
      move_pool(worker);
    }
    switch (random.below(8)) {
      case 0:
        annotate(WorkerId{static_cast<std::uint16_t>(random.below(kWorkers))});
        break;
      case 1:
        annotate(world_->serialized[at].tagged(), sizeof(Object));
        annotate(access::write);
        break;
      case 2:
        annotate(world_->optimistic[at].tagged(), sizeof(Object));
        annotate(access::write);
        break;
      case 3:
        replace(worker, at);
        break;
      case 4:
        worker.unpin(*this);
        held_ = nullptr;
        break;
      case 5:
        worker.pin(*this);
        held_ = world_->shown[at].load(std::memory_order_acquire);  // pairs with replace()
        break;
      default:
        annotate(world_->optimistic[at].tagged(), sizeof(Object));
    }
    return step::again;
  }

  /// Some pool that objects are in, to some worker.
  void move_pool(Worker& worker) {
    Random& random = worker.random();
    TaskPool& pool = worker.runtime().pool(world_->serialized[random.below(kObjects)].pool());
    send_pool(worker, pool, pool.owner(), WorkerId{static_cast<std::uint16_t>(random.below(kWorkers))});
  }

  void replace(Worker& worker, std::size_t at) {
    auto* record = static_cast<Record*>(worker.items().allocate(sizeof(Record)));
    *record = Record{.magic = kMagic, .number = left_};
    Record* old = world_->shown[at].exchange(record, std::memory_order_acq_rel);
    if (old != nullptr) {
      worker.retire(old, world_->records, sizeof(Record));
    }
  }

  World* world_;
  Record* held_ = nullptr;
  std::uint32_t left_;
};

struct RuntimeStress : ::testing::Test {
  static RuntimeOptions options() {
    RuntimeOptions options = testing::unpinned(kWorkers);
    options.stealing = options.order_reach = stealing_scope::machine;
    options.rebalance = {.strategy = rebalance_strategy::objects, .period_ms = 1};
    options.spin_rounds = 2;
    options.batch_tasks = 64;
    options.prefetch.window = 8;
    options.epoch.interval_ms = 1;
    options.epoch.advance_bytes = 4096;
    return options;
  }
  RuntimeStress() {
    world.records = runtime.add_reclaim_kind([](Worker& worker, void* record) {
      static_cast<Record*>(record)->magic = 0;
      worker.items().release(record);
    });
    for (std::size_t i = 0; i < kObjects; ++i) {
      const PoolId pool = runtime.pool_for_object(WorkerId{static_cast<std::uint16_t>(i % kWorkers)}, i);
      world.serialized.emplace_back(pool, primitive::serialized_by_scheduling);
      world.optimistic.emplace_back(
          pool, i % 2 == 0 ? primitive::optimistic_scheduling : primitive::optimistic_latch);
    }
  }
  void submit(std::uint32_t travellers, std::uint32_t hops) {
    for (std::uint32_t i = 0; i < travellers; ++i) {
      runtime.submit(runtime.create_outside<Traveller>(world, hops),
                     WorkerId{static_cast<std::uint16_t>(i % kWorkers)});
    }
  }
  void expect_sound() {
    EXPECT_EQ(world.torn.load(), 0U) << "a read was accepted whose words do not belong together";
    EXPECT_EQ(world.dead.load(), 0U) << "a record was freed under a pin";
    std::uint64_t plain = 0;
    for (const PlainObject& object : world.serialized) {
      plain += object.plain;
    }
    EXPECT_EQ(plain, world.plain_writes.load());
    std::uint64_t written = 0;
    for (const Object& object : world.optimistic) {
      written += object.words[0].load();
    }
    EXPECT_EQ(written, world.optimistic_writes.load()) << "a write was lost";
    EXPECT_GT(world.reads.load(), 0U);
  }

  SystemClock clock;
  World world;
  Runtime runtime{options(), clock};
};

TEST_F(RuntimeStress, ObjectsStayConsistentUnderWritersAndReadersOnAllWorkers) {
  constexpr std::uint32_t kTravellers = 60;
  std::latch done{kTravellers};
  world.done = &done;
  ASSERT_TRUE(runtime.start().ok());
  submit(kTravellers, 5000);
  done.wait();
  runtime.stop();
  expect_sound();
  std::uint64_t reclaimed = 0;
  std::uint64_t stolen = 0;
  std::uint64_t pools_moved = 0;
  std::uint64_t objects_moved = 0;
  for (std::uint16_t i = 0; i < kWorkers; ++i) {
    reclaimed += runtime.worker(WorkerId{i}).counters().reclaimed.load();
    stolen += runtime.worker(WorkerId{i}).counters().pools_stolen.load();
    pools_moved += runtime.worker(WorkerId{i}).counters().pools_moved.load();
    objects_moved += runtime.worker(WorkerId{i}).counters().objects_moved.load();
  }
  EXPECT_GT(reclaimed, 0U) << "memory came back while readers ran";
  EXPECT_GT(stolen, 0U);
  EXPECT_GT(pools_moved, 0U);
  EXPECT_GT(objects_moved, 0U);
}

TEST_F(RuntimeStress, AFewTasksAtATimeMakeWorkersParkAndNoneIsForgotten) {
  ASSERT_TRUE(runtime.start().ok());
  for (int round = 0; round < 300; ++round) {
    std::latch done{2};
    world.done = &done;
    submit(2, 20);
    done.wait();  // a lost wake-up ends in the test's time-out
  }
  runtime.stop();
  expect_sound();
  std::uint64_t parks = 0;
  for (std::uint16_t i = 0; i < kWorkers; ++i) {
    parks += runtime.worker(WorkerId{i}).counters().parks.load();
  }
  EXPECT_GT(parks, 0U);
}

TEST_F(RuntimeStress, StoppingInTheMiddleDropsEachTaskOnceAndFreesAllRecords) {
  constexpr std::uint32_t kTravellers = 50;
  std::latch done{kTravellers};
  world.done = &done;
  ASSERT_TRUE(runtime.start().ok());
  submit(kTravellers, ~std::uint32_t{0});
  while (world.reads.load() < 10'000) {
    std::this_thread::yield();
  }
  runtime.stop();
  expect_sound();
  EXPECT_FALSE(done.try_wait());
  runtime.drain_stopped();
  EXPECT_TRUE(done.try_wait()) << "every task ran to its end or was dropped";
  std::size_t records = 0;
  for (const std::atomic<Record*>& shown : world.shown) {
    records += shown.load() != nullptr ? 1 : 0;
  }
  std::size_t live = 0;
  for (std::uint16_t i = 0; i < kWorkers; ++i) {
    runtime.worker(WorkerId{i}).items().flush_foreign();
  }
  for (std::uint16_t i = 0; i < kWorkers; ++i) {
    Worker& worker = runtime.worker(WorkerId{i});
    EXPECT_EQ(worker.retired_objects(), 0U);
    worker.items().collect();
    live += worker.items().stats().live_bytes;
  }
  EXPECT_EQ(live, records * sizeof(Record)) << "only what is still shown is alive";
}

}  // namespace
}  // namespace mxkv::runtime
