// Puts records for a row of keys whose leaves were found together (row_walk.hpp): the last step of a put, at once,
// without a task.
//
//   walk of all keys ──> key by key: leaf's latch, from the version that the walk saw ──> entry ──> latch free
//
// It takes plain cases only: the key is there, or its leaf has room for it. Any other key needs a task, which can wait,
// split a leaf and move right. An earlier key of the row may have changed the leaf since the walk. Then the key is
// looked up in that leaf once more.
//
// Whatever is decided outside the latch counts only if the latch is taken from the version at which it was decided, as
// in update_task.hpp. Thread-safety: a worker in its epoch, which lasts from the walk to the last put.
#pragma once

#include "index/commit_point.hpp"
#include "index/row_walk.hpp"
#include "runtime/base/paths.hpp"

namespace mxkv::index {

template <class Traits>
class RowPut : public RowWalk<Traits, row_of::puts> {
  static_assert(!Traits::kExact, "rows of puts are of byte keys");
  using Base = RowWalk<Traits, row_of::puts>;

 public:
  using typename Base::NodeT;
  using typename Base::TreeT;

  /// Puts `value` for the key at place `i`, for which look_up() told an answer. found() is the record before, then.
  /// False: nothing was done, and the key needs a task. Writer gives, as a task does (update_task.hpp),
  ///   bool admitted(KeyView)                                 under the latch: whether the entry may change now
  ///   Change commit(NodeT& leaf, std::uint64_t old, std::uint64_t value)      `old`: 0 for a new entry
  template <class Writer>
  [[nodiscard, gnu::always_inline]] bool put(TreeT& tree, std::size_t i, KeyView key, std::uint64_t value,
                                             Writer& writer, runtime::Worker& worker) noexcept {
    Place& place = this->places_[i];
    NodeT& leaf = *static_cast<NodeT*>(place.at().object());
    runtime::WriteLatch latch = runtime::WriteLatch::none();
    if (!latch_for(latch, leaf, place, key)) [[unlikely]] {
      if (!find_again(place, key) || !latch_for(latch, leaf, place, key)) {
        MXKV_PATH(row_put_stops);
        return false;
      }
      MXKV_PATH(row_put_again);
    }
    MXKV_DCHECK(!leaf.meta().frozen(), "nothing changes at a leaf that is on its way out");
    if (!writer.admitted(key)) [[unlikely]] {
      MXKV_PATH(row_put_refused);
      latch.release_unchanged();
      return false;
    }
    const std::uint64_t old = place.found;
    const Change what = writer.commit(leaf, old, value);
    TreeT::keeps_order(leaf, what);
    if (tree.commits().heard()) [[unlikely]] {
      tell(tree, leaf, what, key, value, old, worker);
    }
    if (old != 0) [[likely]] {
      leaf.store_value(true, Base::position(place), value);
    } else {
      insert(leaf, place, key, value);
    }
    latch.release();
    return true;
  }

 private:
  using typename Base::Place;

  /// Takes the leaf's latch if the leaf is as the search for the key saw it, and takes the entry as it is.
  [[gnu::always_inline]] static bool latch_for(runtime::WriteLatch& latch, NodeT& leaf, const Place& place,
                                               KeyView key) noexcept {
    return (place.found != 0 || takes_in(leaf, place, key)) && latch.take_from(leaf, place.version);
  }
  [[nodiscard, gnu::noinline]] static bool takes_in(const NodeT& leaf, const Place& place,
                                                    KeyView key) noexcept {
    const runtime::OptimisticRead read{leaf, place.version};
    const NodeMeta meta = leaf.meta();
    return read.valid() && !meta.frozen() && !Prefix<Traits>::lacks_loose(leaf, meta, key) &&
           leaf.fits(meta, Base::position(place));
  }
  /// Looks for the key in its leaf as it is now. False: the leaf is no plain case, or the key is elsewhere.
  [[nodiscard, gnu::noinline]] static bool find_again(Place& place, KeyView key) noexcept {
    using Plain = PlainSearch<Traits, line_compare::AsFound>;
    return Base::template at_header<Plain, true>(place, key) &&
           Base::template at_leaf_block<Plain>(place, key) &&
           (place.found == 0 || same_key(Traits::Record::key(place.found), key));
  }
  /// Apart, as the next one: seldom, or without a listener never.
  [[gnu::noinline]] static void insert(NodeT& leaf, const Place& place, KeyView key,
                                       std::uint64_t value) noexcept {
    MXKV_PATH(row_put_inserts);
    leaf.insert(Base::position(place), Traits::head(key, leaf.meta().prefix_bytes()), value, 0);
  }
  [[gnu::noinline]] static void tell(const TreeT& tree, const NodeT& leaf, const Change& what, KeyView key,
                                     std::uint64_t value, std::uint64_t old,
                                     runtime::Worker& worker) noexcept {
    tree.tells(leaf, what, key, value, old, worker);
  }
};

}  // namespace mxkv::index
