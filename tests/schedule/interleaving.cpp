#include "tests/schedule/interleaving.hpp"

#include <algorithm>
#include <deque>
#include <memory>
#include <thread>
#include <utility>

namespace mxkv::testing {

namespace {
// Which interleaving the calling thread is a body of, so that point() needs no argument.
thread_local Interleaving* current_interleaving = nullptr;
thread_local std::size_t current_body = 0;
}  // namespace

void Interleaving::run(const std::vector<std::function<void()>>& bodies) {
  std::deque<Body> states(bodies.size());
  bodies_.clear();
  for (Body& state : states) {
    bodies_.push_back(&state);
  }
  std::vector<std::jthread> threads;
  threads.reserve(bodies.size());
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    threads.emplace_back([this, i, &bodies] {
      current_interleaving = this;
      current_body = i;
      bodies_[i]->baton.acquire();
      bodies[i]();
      bodies_[i]->ended = true;
      switch_from(i);
    });
  }
  // Each body waits for the baton before its first step, so that the order of the first steps is chosen too.
  bodies_[choose_(bodies.size(), bodies.size())]->baton.release();
  all_ended_.acquire();
}

void Interleaving::switch_from(std::size_t body) {
  std::vector<std::size_t> able;
  std::size_t current = bodies_.size();
  for (std::size_t i = 0; i < bodies_.size(); ++i) {
    if (!bodies_[i]->ended) {
      if (i == body) {
        current = able.size();
      }
      able.push_back(i);
    }
  }
  if (able.empty()) {
    all_ended_.release();
    return;
  }
  const std::size_t next = able[choose_(able.size(), std::min(current, able.size()))];
  if (next == body) {
    return;
  }
  bodies_[next]->baton.release();
  if (!bodies_[body]->ended) {
    bodies_[body]->baton.acquire();
  }
}

void Interleaving::point() {
  if (current_interleaving != nullptr) {
    current_interleaving->switch_from(current_body);
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
