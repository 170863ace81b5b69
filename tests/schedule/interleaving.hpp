// Deterministic interleavings: several bodies of code run one step at a time, in an order that a test
// chooses.
//
// A step ends at Interleaved::point(), which the runtime's queues, pools and parking flag call between two
// atomic steps when they are instantiated with it. Bodies are fibers (ucontext) of the calling thread:
// switching threads would cost more than all else here. Nothing ever runs at the same time: the tests find
// wrong protocols, not missing memory orders. Those are for ThreadSanitizer and tests/stress.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "runtime/base/random.hpp"

namespace mxkv::testing {

/// Chooses one of `count` bodies (at least 1) that may go on; `current` is the index of the body that ran
/// just now, or `count` if it ended.
using Choose = std::function<std::size_t(std::size_t count, std::size_t current)>;

/// One run of a few bodies.
class Interleaving {
 public:
  explicit Interleaving(Choose choose) : choose_(std::move(choose)) {}

  /// Runs all bodies to their end.
  void run(const std::vector<std::function<void()>>& bodies);

  /// Lets another body go on, or the same. Called by the body that runs; outside of any, does nothing.
  static void point();

 private:
  class Fiber;
  static void start();
  void switch_from_current();

  Choose choose_;
  const std::vector<std::function<void()>>* bodies_ = nullptr;
  std::vector<Fiber*> fibers_;  ///< one a body, then run()'s own
  std::vector<bool> ended_;
  std::size_t current_ = 0;
};

/// The `Schedule` parameter of the runtime's templates.
struct Interleaved {
  static void point() { Interleaving::point(); }
};

/// Enumerates every order of steps with at most `most_preemptions` switches away from a body that could go
/// on. Few preemptions find most mistakes, and keep the number of orders small.
class AllOrders {
 public:
  explicit AllOrders(std::size_t most_preemptions) : most_preemptions_(most_preemptions) {}
  /// To be given to an Interleaving; this object outlives it.
  [[nodiscard]] Choose choose();
  /// Sets up the next order. False: all were run.
  [[nodiscard]] bool next();

 private:
  struct Choice {
    std::size_t taken;
    std::size_t of;
  };
  std::size_t most_preemptions_;
  std::size_t preemptions_ = 0;
  std::size_t at_ = 0;
  std::vector<Choice> path_;
};

/// Chooses at random, the same for a seed.
[[nodiscard]] Choose random_order(std::uint64_t seed);

/// Runs the bodies that `make_bodies` sets up, and `check` after them, in every order with few preemptions;
/// returns how many orders there were.
template <class Setup>
std::size_t in_all_orders(std::size_t most_preemptions, const Setup& one_run) {
  AllOrders orders{most_preemptions};
  std::size_t runs = 0;
  do {
    Interleaving interleaving{orders.choose()};
    one_run(interleaving);
    ++runs;
  } while (orders.next());
  return runs;
}

/// Runs `one_run` in `count` random orders, seeds from 0.
template <class Setup>
void in_random_orders(std::uint64_t count, const Setup& one_run) {
  for (std::uint64_t seed = 0; seed < count; ++seed) {
    Interleaving interleaving{random_order(seed)};
    one_run(interleaving);
  }
}

}  // namespace mxkv::testing
