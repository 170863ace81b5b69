// Merges a leaf that removals thinned with its right neighbours (merge_plan.hpp), and starts to unlink it.
//
// A walk over the nodes above the leaves finds the leaves by their counts (leaf_walk_task.hpp, spawn_merges()). The
// counts are hints: the task reads all anew. It goes to the leaf that the walk found, under the walk's pin. If
// something else happened there meanwhile, it leaves the leaf to the next walk.
#pragma once

#include "index/merge_plan.hpp"
#include "index/unlink_task.hpp"

namespace mxkv::index {

template <class Traits>
struct MergeScratch : TraverseScratch {
  MergePlan<Traits> plan;
};

template <class Traits>
class MergeTask final : public TraverseTask<MergeTask<Traits>, Traits, MergeScratch<Traits>> {
  using Base = TraverseTask<MergeTask<Traits>, Traits, MergeScratch<Traits>>;

 public:
  static constexpr const char* kName = "merge leaves";
  static constexpr bool kWrites = true;
  static constexpr bool kWholeTarget = true;
  using typename Base::NodeT;
  using typename Base::Scratch;
  using typename Base::TreeT;

  MergeTask(const runtime::TaskClass* task_class, TreeT& tree, NodeT& parent) noexcept
      : Base(task_class, tree), parent_(&parent) {}

  /// At the leaf itself.
  void start(NodeT& leaf, runtime::Worker& worker) {
    this->set_own_mark(true);
    this->enter(TreeT::tag(&leaf));
    this->annotate(runtime::access::write);
    this->annotate_lines(this->object(), 0, NodeT::kLines);
    worker.spawn(this);
  }

  /// Not used: the task descends to no key.
  [[nodiscard]] typename Traits::Key key() const noexcept { return {}; }

  TraverseScratch::kind inspect_target(const NodeT& /*node*/, const runtime::OptimisticRead& /*read*/,
                                       Scratch& /*scratch*/) const noexcept {
    return TraverseScratch::kind::target;
  }

  /// Readers never get here: the target is entered as a writer.
  runtime::step resume_target(Scratch& /*scratch*/, runtime::Worker& worker) {
    return this->conflict(worker);
  }
  runtime::step resume_item(runtime::Worker& /*worker*/) { return runtime::step::done; }

  bool prepare(Scratch& scratch, runtime::Worker& worker, runtime::step& otherwise) {
    MXKV_ASSERT(scratch.what == TraverseScratch::kind::target && this->here().leaf(),
                "a merge begins at its leaf");
    const overflow way =
        scratch.plan.plan(this->tree(), this->here(), this->seen_version(), *parent_, worker);
    otherwise = way == overflow::torn ? this->conflict(worker) : runtime::step::done;
    return way == overflow::ready;
  }

  void apply(Scratch& scratch, runtime::Worker& /*worker*/) { scratch.plan.apply(this->here()); }

  runtime::step finish(Scratch& scratch, runtime::Worker& worker) {
    if (scratch.plan.finish(this->tree(), worker)) {
      UnlinkCounters::count(this->tree().unlinks().merges);
      spawn_unlink(this->tree(), this->here(), *this, worker);
    }
    return runtime::step::done;
  }

  void abandon(Scratch& scratch, runtime::Worker& worker) { scratch.plan.abandon(worker); }
  void discard(runtime::Worker& /*worker*/) {}

 private:
  NodeT* parent_;
};

/// Starts merges among `leaves`, the children of `parent`, which `holder` read under its pin. Returns how many.
template <class Traits>
unsigned spawn_merges(Tree<Traits>& tree, Node<typename Traits::Shape>& parent, const Entries& leaves,
                      const runtime::MxTask& holder, runtime::Worker& worker) {
  using NodeT = Node<typename Traits::Shape>;
  const MergeLimits limits = MergeLimits::of(tree.most_entries(true));
  std::array<unsigned, Entries::kMax> entries{};
  for (unsigned i = 1; i < leaves.count; ++i) {
    runtime::prefetch_read(runtime::TaggedPointer{leaves.values[i]}.first_line());
  }
  for (unsigned i = 1; i < leaves.count; ++i) {
    entries[i] = static_cast<const NodeT*>(runtime::TaggedPointer{leaves.values[i]}.object())->meta().total();
  }
  unsigned started = 0;
  for (unsigned i = 1; i + 1 < leaves.count; ++i) {
    if (entries[i] == 0 || entries[i + 1] == 0) {
      continue;  // it is on its way out
    }
    const unsigned both = entries[i] + entries[i + 1];
    const unsigned next = i + 2 < leaves.count ? entries[i + 2] : 0;
    const bool into_one = both <= limits.into_one;
    if (!into_one && (next == 0 || both + next > limits.into_two)) {
      continue;
    }
    auto* const task = worker.create<MergeTask<Traits>>(tree, parent);
    worker.share_pin(holder, *task);
    for (unsigned n = 1; n < (into_one ? 2U : 3U); ++n) {
      NodeT::prefetch(runtime::TaggedPointer{leaves.values[i + n]});
    }
    task->start(*static_cast<NodeT*>(runtime::TaggedPointer{leaves.values[i]}.object()), worker);
    ++started;
    i += into_one ? 1 : 2;
  }
  return started;
}

}  // namespace mxkv::index
