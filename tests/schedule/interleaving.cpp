#include "tests/schedule/interleaving.hpp"

#include <ucontext.h>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <memory>
#include <utility>

namespace mxkv::testing {

namespace {
// The interleaving that runs on this thread, so that point() needs no argument.
thread_local Interleaving* running = nullptr;
}  // namespace

/// A stack and its position. ThreadSanitizer, which would need to know of both, sees nothing here.
class Interleaving::Fiber {
 public:
  /// The fiber that the caller is on.
  Fiber() = default;
  /// A new fiber that begins with `entry`.
  explicit Fiber(void (*entry)()) : stack_(std::make_unique_for_overwrite<std::byte[]>(kStackBytes)) {
    getcontext(&context_);
    context_.uc_stack.ss_sp = stack_.get();
    context_.uc_stack.ss_size = kStackBytes;
    context_.uc_link = nullptr;
    makecontext(&context_, entry, 0);
  }
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;
  ~Fiber() = default;

  void switch_to(Fiber& other) noexcept { swapcontext(&context_, &other.context_); }

 private:
  static constexpr std::size_t kStackBytes = std::size_t{64} << 10U;
  ucontext_t context_{};
  std::unique_ptr<std::byte[]> stack_;
};

void Interleaving::run(const std::vector<std::function<void()>>& bodies) {
  std::deque<Fiber> fibers;
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    fibers.emplace_back(&Interleaving::start);
  }
  Fiber& own = fibers.emplace_back();
  fibers_.clear();
  for (Fiber& fiber : fibers) {
    fibers_.push_back(&fiber);
  }
  bodies_ = &bodies;
  ended_.assign(bodies.size(), false);
  running = this;
  current_ = choose_(bodies.size(), bodies.size());
  own.switch_to(*fibers_[current_]);
  running = nullptr;
}

void Interleaving::start() {
  Interleaving& self = *running;
  const std::size_t body = self.current_;
  (*self.bodies_)[body]();
  self.ended_[body] = true;
  self.switch_from_current();  // never comes back
}

void Interleaving::switch_from_current() {
  std::vector<std::size_t> able;
  std::size_t place = ended_.size();
  for (std::size_t i = 0; i < ended_.size(); ++i) {
    if (!ended_[i]) {
      if (i == current_) {
        place = able.size();
      }
      able.push_back(i);
    }
  }
  const std::size_t before = current_;
  current_ = able.empty() ? ended_.size() : able[choose_(able.size(), std::min(place, able.size()))];
  // The memory of this stack must be freed before it is left for ever.
  std::vector<std::size_t>{}.swap(able);
  if (current_ != before) {
    fibers_[before]->switch_to(*fibers_[current_]);
  }
}

void Interleaving::point() {
  if (running != nullptr) {
    running->switch_from_current();
  }
}

Choose AllOrders::choose() {
  at_ = 0;
  preemptions_ = 0;
  return [this](std::size_t count, std::size_t current) {
    const bool may_go_on = current < count;
    // Choice 0 is to go on; with no preemption left it is the only one.
    const std::size_t of = may_go_on && preemptions_ == most_preemptions_ ? 1 : count;
    if (at_ == path_.size()) {
      path_.push_back({.taken = 0, .of = of});
    }
    const std::size_t taken = path_[at_++].taken;
    if (!may_go_on) {
      return taken;
    }
    preemptions_ += taken != 0 ? 1 : 0;
    return (current + taken) % count;
  };
}

bool AllOrders::next() {
  path_.resize(at_);
  while (!path_.empty() && path_.back().taken + 1 == path_.back().of) {
    path_.pop_back();
  }
  if (path_.empty()) {
    return false;
  }
  ++path_.back().taken;
  return true;
}

Choose random_order(std::uint64_t seed) {
  return [random = std::make_shared<runtime::Random>(seed)](std::size_t count, std::size_t) {
    return static_cast<std::size_t>(random->below(count));
  };
}

}  // namespace mxkv::testing
