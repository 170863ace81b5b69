#include "tests/simulation/errands.hpp"

#include <algorithm>
#include <source_location>
#include <string>
#include <utility>

#include "runtime/scheduler/rebalancing/moves.hpp"

namespace mxkv::simulation {

using runtime::access;
using runtime::MxTask;
using runtime::primitive;
using runtime::step;
using runtime::Worker;
using runtime::WorkerId;

namespace {

constexpr std::array kPrimitives{primitive::serialized_by_scheduling, primitive::optimistic_scheduling,
                                 primitive::optimistic_latch,         primitive::spin_latch,
                                 primitive::reader_writer_latch,      primitive::optimistic_scheduling,
                                 primitive::serialized_by_scheduling};

bool bound(primitive how) {
  return how == primitive::serialized_by_scheduling || how == primitive::optimistic_scheduling;
}

}  // namespace

template <class Base>
class Errands::Hopper final : public Base {
 public:
  Hopper(const runtime::TaskClass* task_class, Errands& errands, std::uint32_t id, std::uint64_t hops)
      : Base(task_class), errands_(&errands), left_(hops), id_(id) {}
  step execute(Worker& on) { return errands_->hop(*this, id_, left_, on); }
  void discard(Worker& /*worker*/) { errands_->dropped(id_); }

 private:
  Errands* errands_;
  std::uint64_t left_;
  std::uint32_t id_;
};

/// Reads all words of an object; in two stages, it must find the same in both.
class Errands::Looker final : public MxTask {
 public:
  struct Scratch {
    std::array<std::uint64_t, 6> words{};
  };
  Looker(const runtime::TaskClass* task_class, Errands& errands, std::uint32_t id)
      : MxTask(task_class), errands_(&errands), id_(id) {}

  [[nodiscard]] bool staged() const { return annotations().stage != 0; }
  void inspect(const runtime::OptimisticRead& /*read*/, Scratch& scratch) const {
    const Object& object = *static_cast<const Object*>(this->object().object());
    for (std::size_t i = 0; i < scratch.words.size(); ++i) {
      scratch.words[i] = object.words[i].load();
      errands_->stepper_.meanwhile();
    }
  }
  step resume(Scratch& scratch, Worker& on) {
    bool whole = std::all_of(scratch.words.begin(), scratch.words.end(),
                             [&scratch](std::uint64_t word) { return word == scratch.words[0]; });
    whole = whole && (!staged() || scratch.words[0] == seen_);
    seen_ = scratch.words[0];
    return errands_->look_on(*this, id_, whole, on);
  }
  step conflict(Worker& /*worker*/) {
    ++errands_->conflicts_;
    annotations().stage = 0;
    return step::again;
  }
  void discard(Worker& /*worker*/) { errands_->dropped(id_); }

 private:
  Errands* errands_;
  std::uint64_t seen_ = 0;
  std::uint32_t id_;
};

Errands::Errands(runtime::Runtime& runtime, Stepper& stepper, runtime::Random& random, Complaints& complaints,
                 fault what)
    : runtime_(runtime),
      stepper_(stepper),
      random_(random),
      complaints_(complaints),
      fault_(what),
      payload_kind_(runtime.add_reclaim_kind(
          [](Worker&, void* payload) { static_cast<Payload*>(payload)->freed = true; })) {
  for (std::size_t i = 0; i < kObjects; ++i) {
    objects_.emplace_back(some_pool(), kPrimitives[i]);
    shown_[i] = &payloads_.emplace_back();
  }
}

WorkerId Errands::some_worker() {
  return WorkerId{static_cast<std::uint16_t>(random_.below(runtime_.worker_count()))};
}

runtime::PoolId Errands::some_pool() {
  return runtime_.pool_for_object(some_worker(), random_());
}

std::uint32_t Errands::enter(std::uint64_t hops) {
  errands_.emplace_back().left = hops;
  return static_cast<std::uint32_t>(errands_.size() - 1);
}

void Errands::start_one(Worker& worker) {
  const std::uint64_t hops = random_.below(30);
  switch (random_.below(8)) {
    case 0:
      start_family(worker);
      return;
    case 1:
    case 2:
    case 3: {
      auto* look = worker.create<Looker>(*this, enter(hops));
      aim(*look);
      worker.spawn(look);
      return;
    }
    case 4: {
      auto* task = worker.create<Hopper<MxTask>>(*this, enter(hops), hops);
      place(*task);
      runtime_.submit(task, some_worker());
      return;
    }
    default:
      worker.spawn(worker.create<Hopper<MxTask>>(*this, enter(hops), hops));
  }
}

// Some errands, a join that counts them, and some errands that wait for it.
void Errands::start_family(Worker& worker) {
  using Member = Hopper<runtime::DependentTask>;
  runtime::Join& join = *runtime_.joins().create("family").value();
  Family& family = families_.emplace_back();
  std::vector<Member*> members;
  const std::uint64_t first = 1 + random_.below(4);
  for (std::uint64_t i = first + 1 + random_.below(3); i > 0; --i) {
    const std::uint64_t hops = random_.below(6);
    const std::uint32_t id = enter(hops);
    members.push_back(worker.create<Member>(*this, id, hops));
    if (i <= first) {
      members.back()->annotate(runtime::before(join));
      errands_[id].counted_by = &family;
      ++family.open;
    } else {
      if (fault_ != fault::early_start) {
        members.back()->annotate(runtime::after(join));
      }
      errands_[id].waits_for = &family;
    }
  }
  while (!members.empty()) {
    const auto next = members.begin() + static_cast<std::ptrdiff_t>(random_.below(members.size()));
    complaints_.unless(runtime::spawn_dependent(worker, **next, std::source_location::current()).ok(),
                       "a member of a family cannot be spawned");
    members.erase(next);
  }
  runtime::end_predecessor(worker, join);
  runtime::release_join(worker, join);
}

template <class Base>
step Errands::hop(Hopper<Base>& task, std::uint32_t id, std::uint64_t& left, Worker& on) {
  Errand& errand = errands_[id];
  complaints_.unless(Worker::current() == &on, "a task's worker is not the current one");
  complaints_.unless(!errand.running, "a task runs on two workers at once");
  complaints_.unless(errand.ended == 0 && errand.left == left, "a task ran twice");
  complaints_.unless(errand.waits_for == nullptr || errand.waits_for->open == 0,
                     "a task did not wait for its join");
  errand.running = true;
  hold(task, errand, on);
  if (task.object()) {
    write(task.annotations().mark, on);
  } else if (fault_ == fault::unguarded_write && random_.below(4) == 0) {
    write(1 + random_.below(2), on);
  }
  const Payload* const seen =
      shown_[random_.below(shown_.size())];  // needs no pin: the worker is in an epoch
  stepper_.meanwhile();
  complaints_.unless(!seen->freed, "freed in an epoch that a worker is in");
  complaints_.unless(errand.held == nullptr || !errand.held->freed, "freed while it was held");
  errand.running = false;
  if (left == 0) {
    if (fault_ == fault::lost_task && random_.below(8) == 0) {
      task.annotations().pin_slot == runtime::Annotations::kNoPin ? void() : on.unpin(task);
      return step::done;
    }
    end(errand);
    if (fault_ == fault::kept_pin && random_.below(8) == 0) {
      task.annotations().pin_slot = runtime::Annotations::kNoPin;
    }
    return fault_ == fault::task_run_twice && random_.below(8) == 0 ? step::again : step::done;
  }
  errand.left = --left;
  return choose(task, on);
}

// Some errands keep a pointer from hop to hop.
void Errands::hold(MxTask& task, Errand& errand, Worker& on) {
  if (errand.held == nullptr && random_.below(4) == 0) {
    if (fault_ != fault::forgotten_pin) {
      on.pin(task);
    }
    errand.held = shown_[random_.below(shown_.size())];
  } else if (errand.held != nullptr && random_.below(8) == 0) {
    complaints_.unless(!errand.held->freed, "freed while it was held");
    errand.held = nullptr;
    on.unpin(task);
  }
}

void Errands::end(Errand& errand) {
  ++errand.ended;
  ++ended_;
  errand.held = nullptr;
  if (errand.counted_by != nullptr) {
    --errand.counted_by->open;
  }
}

void Errands::write(std::size_t which, Worker& on) {
  Guarded& object = objects_[which];
  const primitive how = object.words.synchronization();
  complaints_.unless(!bound(how) || fault_ == fault::unguarded_write || on.leases(object.words.pool()),
                     "a bound task runs outside of its pool");
  complaints_.unless(!object.written, "two tasks write an object at once");
  object.written = true;
  const std::uint64_t value = ++written_;
  for (runtime::RelaxedWord& word : object.words.words) {
    complaints_.unless(word.load() == object.value, "a write was lost, or is half done");
    word.store(value);
    stepper_.meanwhile();
  }
  object.value = value;
  object.written = false;
  if (random_.below(16) == 0 && fault_ != fault::unguarded_write) {  // a move is a task in the old pool
    object.words.move_to(some_pool());
  }
}

step Errands::choose(MxTask& task, Worker& on) {
  task.annotate(WorkerId{runtime::Annotations::kAnyWorker});
  task.annotate(runtime::locality::here);
  task.annotate(access::readonly);
  task.annotate(runtime::TaggedPointer{}, 0);
  if (random_.below(64) == 0) {  // besides the rebalancer's moves
    runtime::TaskPool& pool = runtime_.pool(some_pool());
    runtime::send_pool(on, pool, random_.below(4) == 0 ? some_worker() : pool.owner(), some_worker());
  }
  switch (random_.below(12)) {
    case 0:
      place(task);
      return step::again;
    case 1: {
      const std::uint64_t hops = random_.below(4);
      auto* other = on.create<Hopper<MxTask>>(*this, enter(hops), hops);
      locate(*other);
      on.spawn(other);
      return step::again;
    }
    case 2:
      return step::retry;
    case 3:
      task.annotate(static_cast<runtime::priority>(random_.below(3)));
      return step::again;
    case 4:
      return step::now;
    case 5: {
      Payload*& shown = shown_[random_.below(shown_.size())];
      on.retire(std::exchange(shown, &payloads_.emplace_back()), payload_kind_, 64);
      return step::again;
    }
    case 6:
      locate(task);
      return step::retry;  // spawned again; with step::again it would stay here
    default: {             // most hops are bound, and most of those to the first objects
      const std::uint64_t object = std::min(random_.below(kObjects), random_.below(kObjects));
      task.annotate(objects_[object].words.tagged(), sizeof(Object));
      task.annotate(access::write);
      task.annotations().mark = static_cast<std::uint8_t>(object);
      return step::again;
    }
  }
}

void Errands::locate(MxTask& task) {
  switch (random_.below(3)) {
    case 0:
      task.annotate(runtime::locality::immediate);
      break;
    case 1:
      if (requests_.empty() || random_.below(4) == 0) {
        requests_.push_back(runtime_.new_request());
      }
      task.annotate(runtime::deferred{requests_[random_.below(requests_.size())]});
      break;
    default:
      break;
  }
}

void Errands::place(MxTask& task) {
  switch (random_.below(4)) {
    case 0:
      task.annotate(some_worker());
      break;
    case 1:
      task.annotate(runtime::NumaNodeId{static_cast<std::uint16_t>(random_.below(5))});
      break;
    case 2:
      task.annotate(runtime::CoreGroupId{static_cast<std::uint16_t>(random_.below(9))});
      break;
    default:
      task.annotate(some_pool());
  }
  misplaced_ += runtime_.check_target(task) ? 1 : 0;  // where no worker runs it stays, and is counted
}

step Errands::look_on(Looker& look, std::uint32_t id, bool whole, Worker& on) {
  Errand& errand = errands_[id];
  complaints_.unless(Worker::current() == &on, "a task's worker is not the current one");
  complaints_.unless(whole, "a read is torn, or its second stage went on from another version");
  const primitive how = look.object().synchronization();
  if (errand.left == 0) {
    end(errand);
    return step::done;
  }
  --errand.left;
  // A serialized object needs no versions, and has none.
  if (look.annotations().stage == 0 && how != primitive::serialized_by_scheduling && random_.below(2) == 0) {
    look.annotations().stage = 1;
    return step::again;
  }
  aim(look);
  return step::again;
}

void Errands::aim(Looker& look) {
  look.annotations().stage = 0;
  look.annotate(objects_[random_.below(kObjects)].words.tagged(), sizeof(Object));
}

void Errands::dropped(std::uint32_t id) {
  complaints_.unless(errands_[id].ended == 0, "a task waits after its end");
  end(errands_[id]);
}

void Errands::check() {
  for (std::size_t id = 0; id < errands_.size(); ++id) {
    if (errands_[id].ended != 1) {
      complaints_.add("task " + std::to_string(id) + " ended " + std::to_string(errands_[id].ended) +
                      " times");
    }
  }
  for (const Guarded& object : objects_) {
    for (const runtime::RelaxedWord& word : object.words.words) {
      complaints_.unless(word.load() == object.value, "an object does not hold what was written last");
    }
  }
  for (const Payload* shown : shown_) {
    complaints_.unless(!shown->freed, "freed though it was never unlinked");
  }
  complaints_.unless(runtime_.joins().alive() == 0, "a join was not freed");
}

}  // namespace mxkv::simulation
