// A worker's share of random work on a tree: a poller that keeps some operations in flight, as a socket
// would, and keeps the history of all of them for the judge of linearizability.
#pragma once

#include <atomic>
#include <deque>
#include <map>

#include "runtime/scheduler/event_poller.hpp"
#include "tests/unit/index/linearizability.hpp"
#include "tests/unit/index/merge_walk.hpp"
#include "tests/unit/index/tree_tasks.hpp"

namespace mxkv::index::testing {

struct LoadOptions {
  std::uint64_t seed = 1;
  std::size_t operations = 100;
  std::size_t in_flight = 8;  ///< at most so many at once
  unsigned scans_in_64 = 4;   ///< how many of 64 operations are scans
  unsigned clears_in_1024 = 0;
  unsigned merges_in_64 = 0;  ///< how many of 64 operations are walks that merge thinned leaves
  std::size_t wave = 0;  ///< ticks; in every second wave, most operations remove neighbouring keys. 0: none
  bool disturb = false;  ///< now and then, a version moves between a writer's read and its latch
  std::function<void()> meanwhile = {};  ///< see TreeContext
};

/// Thread-safety: as Poller; results after all workers stopped.
template <class Env>
class TreeLoad : public runtime::Poller {
 public:
  using OwnedKey = typename Env::OwnedKey;
  using Histories = std::map<OwnedKey, KeyHistory>;

  /// `keys`: sorted; without waves, the keys at even places are never removed. `ticks`: shared by all loads,
  /// gives moments.
  TreeLoad(Tree<typename Env::Traits>& tree, const Env& env, const std::vector<OwnedKey>& keys,
           std::atomic<std::uint64_t>& ticks, const LoadOptions& options)
      : keys_(keys),
        ticks_(ticks),
        options_(options),
        random_(options.seed),
        context_{tree, env, &operation_ended, this, options.disturb ? &random_ : nullptr, options.meanwhile} {
  }

  /// Whether all operations were started and ended. Any thread.
  [[nodiscard]] bool finished() const noexcept {
    return ended_.load(std::memory_order_acquire) == options_.operations;  // pairs with end()
  }

  bool poll(runtime::Worker& worker) override {
    bool any = false;
    while (started_ < options_.operations &&
           started_ - ended_.load(std::memory_order_acquire) < options_.in_flight) {
      ++started_;
      any = true;
      if (options_.merges_in_64 != 0 && random_.below(64) < options_.merges_in_64) {
        start_merges(worker);
      } else if (random_.below(64) < options_.scans_in_64) {
        start_scan(worker);
      } else {
        start_operation(context_, next_operation(), worker);
      }
    }
    return any;
  }
  bool end_turn(runtime::Worker& /*worker*/) override { return false; }
  void block(runtime::Worker& worker, std::uint64_t timeout_ns) override {
    waiter_.block(worker, timeout_ns);
  }
  void wake() noexcept override { waiter_.wake(); }

  /// Adds the observations to the histories of the keys: operations, and each key that a scan passed.
  void tell(Histories& histories) const {
    for (const auto& op : operations_) {
      if (op.how == verb::clear) {
        for (const auto& key : keys_) {
          if (!op.failed) {
            histories[key].add(
                {op.how, 0, 0, false, 0, op.invoked, op.done ? op.responded : HistoryEntry::kNever});
          }
        }
      } else if (!op.failed) {
        histories[op.key].add({op.how, op.operand, op.expected, op.found, op.number, op.invoked,
                               op.done ? op.responded : HistoryEntry::kNever});
      }
    }
    for (const auto& range : ranges_) {
      if (range.done) {
        tell_range(range, histories);
      }
    }
  }

  /// Whether every scan saw its keys in strict order and on its side of where it began.
  [[nodiscard]] bool scans_in_order() const {
    return std::all_of(ranges_.begin(), ranges_.end(), [](const Range<Env>& range) {
      const OwnedKey* before = nullptr;
      for (const auto& [key, number] : range.entries) {
        if (range.backward ? !(key < (before == nullptr ? range.key : *before))
                           : (before == nullptr ? key < range.key : !(*before < key))) {
          return false;
        }
        before = &key;
      }
      return true;
    });
  }
  [[nodiscard]] std::size_t failed() const {
    return static_cast<std::size_t>(
        std::count_if(operations_.begin(), operations_.end(), [](const auto& op) { return op.failed; }));
  }

 private:
  static void operation_ended(void* load, Operation<Env>& operation) {
    operation.responded = static_cast<TreeLoad*>(load)->ticks_.fetch_add(1);
    static_cast<TreeLoad*>(load)->end();
  }
  static void merges_ended(void* load) { static_cast<TreeLoad*>(load)->end(); }
  static void scan_ended(void* load, Range<Env>& range) {
    range.responded = static_cast<TreeLoad*>(load)->ticks_.fetch_add(1);
    static_cast<TreeLoad*>(load)->end();
  }
  void end() {
    ended_.fetch_add(1, std::memory_order_release);  // pairs with poll(), finished()
    wake();
  }

  Operation<Env>& next_operation() {
    constexpr verb kVerbs[] = {verb::find,   verb::find,   verb::find,         verb::upsert, verb::upsert,
                               verb::upsert, verb::remove, verb::compare_swap, verb::add,    verb::touch};
    std::size_t at = random_.below(keys_.size());
    Operation<Env>& op = operations_.emplace_back();
    op.how = kVerbs[random_.below(std::size(kVerbs))];
    if (options_.wave == 0 && op.how == verb::remove && at % 2 == 0) {
      op.how = verb::upsert;
    } else if (options_.wave != 0 && ticks_.load() / options_.wave % 2 != 0 && random_.below(16) != 0) {
      at = (options_.seed + next_removed_++) % keys_.size();
      op.how = verb::remove;
    }
    op.key = keys_[at];
    if (random_.below(1024) < options_.clears_in_1024) {
      op.how = verb::clear;
    }
    op.operand = random_();
    op.expected = last_[at % last_.size()];  // perhaps the key's number
    if (op.how == verb::upsert) {
      last_[at % last_.size()] = op.operand;
    }
    op.invoked = ticks_.fetch_add(1);
    return op;
  }

  void start_merges(runtime::Worker& worker) {
    Merges<Env>& merges = merges_.emplace_back();
    merges.at = keys_[random_.below(keys_.size())];
    worker.create<MergeWalkTask<Env>>(context_.tree, merges, &merges_ended, this)->start(worker);
  }

  void start_scan(runtime::Worker& worker) {
    Range<Env>& range = ranges_.emplace_back();
    range.key = keys_[random_.below(keys_.size())];
    range.backward = random_.below(2) == 0;
    range.limit = random_.below(keys_.size() + 1);
    range.wanted = range.limit % 2 == 0 ? range.limit : range.limit % 5;  // too few, now and then
    range.invoked = ticks_.fetch_add(1);
    worker.create<RangeTask<Env>>(context_.tree, range, &scan_ended, this, &context_.meanwhile)
        ->start(worker);
  }

  void tell_range(const Range<Env>& range, Histories& histories) const {
    auto entry = range.entries.begin();
    const auto pass = [&](const OwnedKey& key) {
      if (entry == range.entries.end() && !range.exhausted) {
        return false;
      }
      const bool seen = entry != range.entries.end() && entry->first == key;
      histories[key].add({verb::find, 0, 0, seen, seen ? entry->second : 0, range.invoked, range.responded});
      entry += seen ? 1 : 0;
      return true;
    };
    const auto from = std::lower_bound(keys_.begin(), keys_.end(), range.key);
    if (range.backward) {
      for (auto at = from; at != keys_.begin() && pass(*std::prev(at)); --at) {
      }
    } else {
      for (auto at = from; at != keys_.end() && pass(*at); ++at) {
      }
    }
  }

  const std::vector<OwnedKey>& keys_;
  std::atomic<std::uint64_t>& ticks_;
  LoadOptions options_;
  runtime::Random random_;
  TreeContext<Env> context_;
  runtime::EventPoller waiter_;
  std::array<std::uint64_t, 64> last_{};
  std::deque<Operation<Env>> operations_;
  std::deque<Range<Env>> ranges_;
  std::deque<Merges<Env>> merges_;
  std::size_t started_ = 0;
  std::size_t next_removed_ = 0;
  std::atomic<std::size_t> ended_{0};
};

}  // namespace mxkv::index::testing
