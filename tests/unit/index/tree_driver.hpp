// Drives tree tasks on workers without threads: a test spawns operations and steps the workers until all
// are done, in an order that a seed decides.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "index/scan_task.hpp"
#include "index/update_task.hpp"
#include "runtime/scheduler/runtime.hpp"

namespace mxkv::index::testing {

/// The primitives by which the nodes of a tree may be synchronised.
inline constexpr runtime::primitive kTreePrimitives[] = {
    runtime::primitive::optimistic_latch, runtime::primitive::optimistic_scheduling,
    runtime::primitive::serialized_by_scheduling, runtime::primitive::spin_latch,
    runtime::primitive::reader_writer_latch};

inline runtime::RuntimeOptions driver_options(std::size_t workers) {
  runtime::RuntimeOptions options;
  for (std::size_t i = 0; i < workers; ++i) {
    options.workers.push_back({.pu = runtime::PuId{0}, .node = runtime::NumaNodeId{0}, .pinned = false});
  }
  options.memory.huge_pages = runtime::huge_pages_mode::off;
  options.memory.limit_bytes = std::size_t{256} << 20U;
  return options;
}

/// A runtime whose workers a test steps by hand.
class Driver {
 public:
  explicit Driver(std::size_t workers = 1, runtime::RuntimeOptions options = {}, std::uint64_t seed = 1)
      : runtime_(options.workers.empty() ? driver_options(workers) : std::move(options), clock_),
        random_(seed) {}

  [[nodiscard]] runtime::Runtime& runtime() noexcept { return runtime_; }
  [[nodiscard]] runtime::Worker& worker(std::size_t i = 0) noexcept {
    return runtime_.worker(runtime::WorkerId{static_cast<std::uint16_t>(i)});
  }
  [[nodiscard]] runtime::ManualClock& clock() noexcept { return clock_; }
  [[nodiscard]] runtime::Random& random() noexcept { return random_; }

  /// Runs `spawn` inside of a worker's epoch, as a poller would.
  template <class Spawn>
  void on_worker(std::size_t i, const Spawn& spawn) {
    runtime_.epochs().enter(worker(i).id());
    spawn(worker(i));
  }

  /// Steps random workers until `done`, or until nothing moves any more, or after far too many steps.
  void run_until(const std::function<bool()>& done) {
    std::size_t idle = 0;
    for (std::size_t steps = 0; !done() && idle < 1000 * runtime_.worker_count(); ++steps) {
      ASSERT_LT(steps, kMaxSteps) << "the tasks go round in circles";
      idle = worker(random_.below(runtime_.worker_count())).step() ? 0 : idle + 1;
    }
  }
  /// Steps all workers until none has anything to do.
  void settle() {
    for (std::size_t quiet = 0, rounds = 0; quiet < 3; ++rounds) {
      ASSERT_LT(rounds, kMaxSteps) << "the workers never come to rest";
      bool busy = false;
      for (std::size_t i = 0; i < runtime_.worker_count(); ++i) {
        busy = worker(i).step() || busy;
      }
      quiet = busy ? 0 : quiet + 1;
    }
  }

 private:
  static constexpr std::size_t kMaxSteps = 100'000;

  runtime::ManualClock clock_;
  runtime::Runtime runtime_;
  runtime::Random random_;
};

}  // namespace mxkv::index::testing
