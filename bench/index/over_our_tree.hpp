// Containers over the tree of another one: its look-ups in rows, and the ceilings, which are loops written by hand over
// its nodes. 64-bit keys only.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <vector>

#include "bench/index/hand_insert.hpp"
#include "bench/index/hand_walk.hpp"
#include "bench/index/our_tree.hpp"
#include "index/row_walk.hpp"

namespace mxkv::bench {

/// A container without a tree of its own. Its results are checked one by one, and the tree with its own container.
class OverOurTree : public Container {
 public:
  explicit OverOurTree(OurTree<IntegerKind>& ours) : ours_(ours) {}
  [[nodiscard]] bool has_flights() const override { return true; }
  [[nodiscard]] std::uint64_t wrong() const override { return wrong_.load(std::memory_order_relaxed); }
  std::string check(std::uint64_t /*records*/) override { return ""; }
  std::vector<Part> parts(std::uint64_t /*records*/) override { return {}; }

 protected:
  void add_wrong(std::uint64_t wrong) noexcept { wrong_.fetch_add(wrong, std::memory_order_relaxed); }
  [[nodiscard]] OurTree<IntegerKind>& ours() noexcept { return ours_; }

 private:
  OurTree<IntegerKind>& ours_;
  std::atomic<std::uint64_t> wrong_{0};  // a sum, read when the threads have ended
};

/// Look-ups in rows without tasks, as the server's gets are. Up to RowWalk::kMost are in flight.
class TreeInRows final : public OverOurTree {
 public:
  using OverOurTree::OverOurTree;
  [[nodiscard]] std::string name() const override { return "mxkv, in rows"; }
  [[nodiscard]] bool can(workload what, unsigned /*workers*/) const override {
    return what == workload::read;
  }
  double run(const Job& job) override {
    return timed(job.workers, [&](unsigned i) {
      Stream& stream = (*job.streams)[i];
      runtime::Worker& worker = ours().worker(i);
      index::RowWalk<IntegerKind::Traits> row;
      std::array<std::uint64_t, decltype(row)::kMost> keys{};
      const std::size_t most = std::min<std::size_t>(job.in_flight, keys.size());
      std::uint64_t wrong = 0;
      for (std::uint64_t done = 0; done < job.operations; done += most) {
        worker.step();  // a round of the worker, which enters its epoch anew
        std::generate_n(keys.begin(), most, [&stream] { return key_of(stream.record()); });
        const std::size_t told = row.look_up(ours().tree(), most, [&keys](std::size_t k) { return keys[k]; });
        wrong += most - told;
        for (std::size_t k = 0; k < told; ++k) {
          wrong += row.has(k) && IntegerKind::right(keys[k], row.found(k)) ? 0 : 1;
        }
      }
      add_wrong(wrong);
    });
  }
};

/// The ceilings of look-ups, updates and inserts.
class HandWalkedTree final : public OverOurTree {
 public:
  using OverOurTree::OverOurTree;
  [[nodiscard]] std::string name() const override { return "static tree by hand"; }
  [[nodiscard]] bool can(workload what, unsigned workers) const override {
    return what == workload::read || ((what == workload::mixed || what == workload::insert) && workers == 1);
  }
  double run(const Job& job) override {
    return job.what == workload::insert ? insert(job) : job.what == workload::mixed ? mixed(job) : read(job);
  }

 private:
  using Traits = IntegerKind::Traits;
  /// Number of the first record that it inserts, beyond all records that the tree itself is measured with. Of
  /// ascending keys it has the lower half.
  static constexpr std::uint64_t kFirstRecord = std::uint64_t{1} << 40U;

  double read(const Job& job) {
    return timed(job.workers, [&](unsigned i) {
      Stream& stream = (*job.streams)[i];
      HandWalk<Traits> walk{ours().tree(), job.in_flight};
      std::uint64_t wrong = 0;
      walk.run(
          job.operations, [&stream] { return key_of(stream.record()); },
          [&wrong](std::uint64_t key, std::uint64_t value) { wrong += value == ~key ? 0 : 1; });
      add_wrong(wrong);
    });
  }
  /// An update stores the value, and takes no latch.
  double mixed(const Job& job) {
    return timed(1, [&](unsigned /*i*/) {
      Stream& stream = job.streams->front();
      HandWalk<Traits> walk{ours().tree(), job.in_flight};
      std::uint64_t wrong = 0;
      walk.run_to_entries(
          job.operations, [&stream] { return key_of(stream.record()); },
          [&wrong, &stream](std::uint64_t key, auto* leaf, index::Position at) {
            if (leaf == nullptr) {
              ++wrong;
            } else if (stream.update()) {
              leaf->store_value(true, at, ~key);
            } else {
              wrong += leaf->value(true, at) == ~key ? 0 : 1;
            }
          });
      add_wrong(wrong);
    });
  }
  double insert(const Job& job) {
    ours().expect_more(job.operations);
    return timed(1, [&](unsigned /*i*/) {
      HandInsert<Traits> loop{ours().tree(), ours().worker(0), job.in_flight};
      std::uint64_t next =
          job.next_new != nullptr ? job.first_new - kHalfAscending : kFirstRecord + job.first_new;
      add_wrong(loop.run(job.operations, [&next] { return key_of(next++); }));
    });
  }
};

}  // namespace mxkv::bench
