// Whether a simulated store makes progress. Once a world is calm every operation ends soon. If none does
// although workers go on, tasks wait for each other in a circle, or keep out the tasks that they wait for.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/base/paths.hpp"
#include "runtime/scheduler/runtime.hpp"
#include "server/store/store.hpp"

namespace mxkv::simulation {

/// Thread-safety: one thread.
class StoreProgress {
 public:
  /// Rounds of a calm world in which no operation ended and no node was unlinked: many times the number
  /// that was ever needed.
  static constexpr std::uint64_t kMostRounds = 300'000;

  StoreProgress(runtime::Runtime& runtime, server::Store& store) : runtime_(runtime), store_(store) {}

  /// After each round; `ended`: operations so far. False: there is no progress.
  bool look(std::uint64_t ended) {
    const index::UnlinkCounters& unlinks = store_.tree().unlinks();
    const std::uint64_t done = ended + unlinks.leaves.load() + unlinks.branches.load();
    if (done != done_ || !begun_) {
      begun_ = true;
      done_ = done;
      rounds_ = 0;
      retries_ = retries();
      waits_ = store_.tree().unlinks().waits.load();
      paths_ = runtime::paths::all();
      tasks_.clear();
      for (std::size_t i = 0; i < runtime_.worker_count(); ++i) {
        tasks_.push_back(worker(i).counters().tasks.load());
      }
    }
    longest_ = std::max(longest_, ++rounds_);
    return rounds_ < kMostRounds;
  }
  void begin_anew() noexcept { begun_ = false; }
  [[nodiscard]] std::uint64_t longest() const noexcept { return longest_; }

  /// The events since an operation ended, and the waiting tasks. Between two steps.
  [[nodiscard]] std::string describe() {
    std::string text = "in " + std::to_string(rounds_) + " rounds tasks tried again " +
                       std::to_string(retries() - retries_) + " times, " +
                       std::to_string(store_.tree().unlinks().waits.load() - waits_) +
                       " times since a node was on its way out; frozen nodes:";
    for (const auto& [level, nodes] : frozen_by_level()) {
      text += " " + std::to_string(nodes) + " of level " + std::to_string(level);
    }
    for (std::size_t i = 0; i < runtime_.worker_count(); ++i) {
      std::map<std::string, std::uint64_t> tasks;
      worker(i).for_each_waiting([&tasks](runtime::MxTask& task) { ++tasks[task.task_class().name]; });
      for (const auto& [name, count] : tasks) {
        text += "; worker " + std::to_string(i) + " has " + std::to_string(count) + " of `" + name + "`";
      }
      text += "; it executed " + std::to_string(worker(i).counters().tasks.load() - tasks_[i]);
    }
    const runtime::paths::Counts now = runtime::paths::all();
    for (std::size_t i = 0; i < now.size(); ++i) {
      if (now[i] != paths_[i]) {
        text += "; " + std::string{runtime::paths::kNames[i]} + " " + std::to_string(now[i] - paths_[i]);
      }
    }
    for (std::size_t i = 0; i < runtime_.pool_count(); ++i) {
      const runtime::TaskPool& pool = runtime_.pool(runtime::PoolId{static_cast<std::uint16_t>(i)});
      if (pool.state() != runtime::pool_state::empty) {
        text += "; pool " + std::to_string(i) + " of worker " + std::to_string(pool.owner().value()) +
                " is in state " + std::to_string(static_cast<int>(pool.state()));
      }
    }
    return text;
  }

 private:
  [[nodiscard]] runtime::Worker& worker(std::size_t i) {
    return runtime_.worker(runtime::WorkerId{static_cast<std::uint16_t>(i)});
  }
  [[nodiscard]] std::uint64_t retries() {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < runtime_.worker_count(); ++i) {
      sum += worker(i).counters().retries.load();
    }
    return sum;
  }
  [[nodiscard]] std::map<unsigned, std::uint64_t> frozen_by_level() {
    const auto node_of = [](std::uint64_t word) {
      return static_cast<const server::ItemNode*>(runtime::TaggedPointer{word}.object());
    };
    std::map<unsigned, std::uint64_t> frozen;
    const auto* leftmost = static_cast<const server::ItemNode*>(store_.tree().root().object());
    for (;;) {
      const unsigned level = leftmost->meta().level();
      for (const auto* node = leftmost; node != nullptr; node = node_of(node->right())) {
        frozen[level] += node->meta().frozen() ? 1 : 0;
      }
      if (level == 0) {
        return frozen;
      }
      leftmost = node_of(leftmost->value(false, index::Position{}));
    }
  }

  runtime::Runtime& runtime_;
  server::Store& store_;
  bool begun_ = false;
  std::uint64_t done_ = 0;
  std::uint64_t rounds_ = 0;
  std::uint64_t longest_ = 0;
  std::uint64_t retries_ = 0;
  std::uint64_t waits_ = 0;
  std::vector<std::uint64_t> tasks_;
  runtime::paths::Counts paths_{};
};

}  // namespace mxkv::simulation
