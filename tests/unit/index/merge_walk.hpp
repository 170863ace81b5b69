// A walk that merges thinned leaves, as the store's does, from a key to the end of a tree.
#pragma once

#include "index/leaf_walk_task.hpp"
#include "index/merge_task.hpp"
#include "tests/unit/index/tree_env.hpp"

namespace mxkv::index::testing {

template <class Env>
struct Merges {
  typename Env::OwnedKey at{};
  unsigned started = 0;
  bool done = false;
};

template <class Env>
class MergeWalkTask final : public LeafWalkTask<MergeWalkTask<Env>, typename Env::Traits> {
  using Base = LeafWalkTask<MergeWalkTask<Env>, typename Env::Traits>;
  using Key = typename Env::Traits::Key;

 public:
  using Ended = void (*)(void* listener);
  using typename Base::NodeT;

  MergeWalkTask(const runtime::TaskClass* task_class, Tree<typename Env::Traits>& tree, Merges<Env>& merges,
                Ended ended = nullptr, void* listener = nullptr)
      : Base(task_class, tree), merges_(&merges), ended_(ended), listener_(listener) {}

  [[nodiscard]] Key key() const noexcept { return Env::view(merges_->at); }
  void set_key(Key key) { merges_->at = typename Env::OwnedKey{key}; }
  void met_siblings(NodeT& parent, const Entries& leaves, runtime::Worker& worker) {
    merges_->started += spawn_merges(this->tree(), parent, leaves, *this, worker);
  }
  [[nodiscard]] bool may_go_on(runtime::Worker& /*worker*/) const noexcept { return true; }
  runtime::step finished(bool /*exhausted*/, runtime::Worker& /*worker*/) {
    merges_->done = true;
    if (ended_ != nullptr) {
      ended_(listener_);
    }
    return runtime::step::done;
  }

 private:
  Merges<Env>* merges_;
  Ended ended_;
  void* listener_;
};

}  // namespace mxkv::index::testing
