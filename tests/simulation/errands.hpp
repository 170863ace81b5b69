// Tasks without a tree. An errand hops around a number of times: it writes objects of every primitive, is
// placed on workers, core groups, nodes and pools, changes its priority, spawns others, holds pins, retires
// the memory that it replaced, and may wait for a join or be counted by one. A look reads an object in two
// halves, in one hop or two.
//
// Wherever it goes: every hop happens once, a writer is alone with its object and the object is whole, a
// bound task runs under the lease of its object's pool, nothing that is held under a pin is freed, and a task
// that waits for a join starts after the tasks that the join counts.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "runtime/scheduler/tasking.hpp"
#include "tests/simulation/stepper.hpp"
#include "tests/unit/scheduler/machine.hpp"

namespace mxkv::simulation {

/// Mistakes that a test makes on purpose.
enum class fault : std::uint8_t {
  none,
  lost_wake_up,     ///< some rings of a bell are not heard
  lost_task,        ///< a task ends without having been done
  task_run_twice,   ///< a task comes back after its end
  unguarded_write,  ///< a writer does not go through its object's primitive
  forgotten_pin,    ///< a task holds a pointer without a pin
  kept_pin,         ///< a pin is never left
  kept_block,       ///< a block is never released
  early_start,      ///< a task does not wait for its join
};

/// Thread-safety: one thread.
class Errands {
 public:
  Errands(runtime::Runtime& runtime, Stepper& stepper, runtime::Random& random, Complaints& complaints,
          fault what);

  /// Starts an errand, a few that follow each other, or a look, on `worker` or elsewhere.
  void start_one(runtime::Worker& worker);
  /// Whether all that were started have ended.
  [[nodiscard]] bool finished() const noexcept { return ended_ == errands_.size(); }
  /// When the runtime is drained: checks that each ended once, and that the objects hold the written values.
  void check();

  [[nodiscard]] std::uint64_t misplaced() const noexcept { return misplaced_; }
  [[nodiscard]] std::uint64_t torn() const noexcept { return conflicts_; }
  [[nodiscard]] std::uint64_t fingerprint() const noexcept { return written_ * 31 + errands_.size(); }

 private:
  static constexpr std::size_t kObjects = 7;
  using Object = runtime::testing::Words<>;
  template <class Base>
  class Hopper;
  class Looker;

  /// Memory that readers may still look at; `freed` tells on them.
  struct Payload {
    bool freed = false;
  };
  struct Family {
    std::size_t open = 0;  ///< errands that must have ended before
  };
  struct Errand {
    std::uint64_t left = 0;
    int ended = 0;
    bool running = false;
    bool pinned = false;
    const Payload* held = nullptr;
    Family* counted_by = nullptr;
    const Family* waits_for = nullptr;
  };
  struct Guarded {
    explicit Guarded(runtime::PoolId pool, runtime::primitive how) : words(pool, how) {}
    Object words;
    bool written = false;  ///< a writer is in the middle of it
    std::uint64_t value = 0;
  };

  [[nodiscard]] std::uint32_t enter(std::uint64_t hops);
  [[nodiscard]] runtime::WorkerId some_worker();
  [[nodiscard]] runtime::PoolId some_pool();
  void start_family(runtime::Worker& worker);
  template <class Base>
  [[nodiscard]] runtime::step hop(Hopper<Base>& task, std::uint32_t id, std::uint64_t& left,
                                  runtime::Worker& on);
  void hold(runtime::MxTask& task, Errand& errand, runtime::Worker& on);
  void end(Errand& errand);
  void write(std::size_t object, runtime::Worker& on);
  [[nodiscard]] runtime::step choose(runtime::MxTask& task, runtime::Worker& on);
  void locate(runtime::MxTask& task);
  void place(runtime::MxTask& task);
  [[nodiscard]] runtime::step look_on(Looker& look, std::uint32_t id, bool whole, runtime::Worker& on);
  void aim(Looker& look);
  void dropped(std::uint32_t id);

  runtime::Runtime& runtime_;
  Stepper& stepper_;
  runtime::Random& random_;
  Complaints& complaints_;
  fault fault_;
  runtime::ReclaimKind payload_kind_;
  std::deque<Guarded> objects_;
  std::deque<Payload> payloads_;
  std::array<Payload*, kObjects> shown_{};  ///< the memory that an errand finds at a place
  std::deque<Family> families_;
  std::vector<runtime::RequestId> requests_;  ///< of deferred tasks
  std::deque<Errand> errands_;
  std::size_t ended_ = 0;
  std::uint64_t written_ = 0;
  std::uint64_t misplaced_ = 0;
  std::uint64_t conflicts_ = 0;
};

}  // namespace mxkv::simulation
