// Estimates how much a range holds by random walks from the root to its leaves, without seeing all of it.
//
// At each inner node a walk takes one of the children that may hold keys of the range, each with the same
// chance. The leaf's contents count for as many leaves as there were choices on the way, multiplied (Knuth's
// estimate). The mean over walks is right on average whatever the fill of the nodes; how far the walks differ
// tells how good it is. A walk that never had a choice has seen the whole range.
//
// Walks go by child pointers alone. They do not see entries that a split moved to a node whose parent does
// not know it yet, and a node that was unlinked meanwhile counts as empty.
//
// Derived (CRTP) gives
//   Key key() const                      where the range begins
//   bool ends_before(Key) const          whether a key, not below key(), lies behind the range
//   bool walked(const Entries& leaf, double weight, bool whole, Worker&)     a leaf's entries, the records
//                                        safe to read; whole: there was no choice. False: enough
//   step finished(Worker&)
#pragma once

#include "index/lookup_task.hpp"
#include "runtime/base/random.hpp"

namespace mxkv::index {

struct SampleScratch : TraverseScratch {
  Entries entries;
};

template <class Derived, class Traits>
class SampleTask : public TraverseTask<Derived, Traits, SampleScratch> {
  using Base = TraverseTask<Derived, Traits, SampleScratch>;

 public:
  static constexpr bool kTargetsLeaf = false;
  static constexpr bool kWholeTarget = true;
  static constexpr unsigned kWalksPerPin = 8;
  using typename Base::NodeT;
  using typename Base::Scratch;

  SampleTask(const runtime::TaskClass* task_class, Tree<Traits>& tree, std::uint64_t seed) noexcept
      : Base(task_class, tree), random_(seed) {
    this->set_own_mark(true);  // whatever the node, it is not searched for key()
  }

  /// Every node is a target.
  [[nodiscard]] unsigned target_level() const noexcept { return ~0U; }

  TraverseScratch::kind inspect_target(const NodeT& node, const runtime::OptimisticRead& /*read*/,
                                       Scratch& scratch) const noexcept {
    const NodeMeta meta = scratch.meta;
    node.copy_entries(meta, meta.level() > 0, scratch.entries);
    return TraverseScratch::kind::target;
  }

  runtime::step resume_target(Scratch& scratch, runtime::Worker& worker) {
    const Entries& entries = scratch.entries;
    if (scratch.meta.level() > 0 && entries.count > 0) {
      choose_child(entries);
      return runtime::step::again;
    }
    MXKV_ASSERT(weight_ >= 1, "a walk stands for one leaf or more");
    if (!this->self().walked(entries, weight_, weight_ < 1.5, worker)) {
      return this->self().finished(worker);
    }
    weight_ = 1;
    if (++walks_ % kWalksPerPin == 0) {
      worker.repin(*this);
    }
    return this->restart(false);
  }

  runtime::step resume_item(runtime::Worker& /*worker*/) { return runtime::step::done; }

 private:
  void choose_child(const Entries& entries) {
    unsigned first = 0;
    while (first + 1 < entries.count && entries.bound<Traits>(first + 1) <= this->self().key()) {
      ++first;
    }
    unsigned last = first;
    while (last + 1 < entries.count && !this->self().ends_before(entries.bound<Traits>(last + 1))) {
      ++last;
    }
    MXKV_ASSERT(first <= last && last < entries.count, "a walk has a child to choose");
    const unsigned choices = last - first + 1;
    weight_ *= choices;
    this->enter(runtime::TaggedPointer{entries.values[first + random_.below(choices)]});
    this->annotate_lines(this->object(), 0, NodeT::kLines);
  }

  runtime::Random random_;
  double weight_ = 1;
  std::uint32_t walks_ = 0;
};

}  // namespace mxkv::index
