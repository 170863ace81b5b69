// A write of one key: insert, replace, remove, change in place, or leave alone, as Derived decides once it
// knows the present entry.
//
// At the leaf the task searches optimistically, lets Derived decide and prepare (allocate, build) outside the
// latch, takes the latch from the version it searched at, and only compares-and-swaps under it; if the
// version moved, it searches and decides again. Inserting into a full leaf splits it first and comes back.
//
// Derived (CRTP) gives
//   Key key() const
//   Decision decide(bool found, std::uint64_t old, Worker&)
//       Outside the latch; may be called again. `old` is safe to read under the pin.
//  Change commit(NodeT& leaf, bool found, std::uint64_t old, std::uint64_t value, Worker&)
//      Under the latch, just before the entry changes: mints, and returns the change for the tree's listener
//      (commit_point.hpp). Must not fail.
//   void change_record(std::uint64_t old, Worker&)
//       Where decide() says in_place: under the latch, after the change has passed. Must not fail.
//   step committed(bool found, std::uint64_t old, Worker&)     After the latch; retires `old`, answers.
//   step left(bool found, std::uint64_t old, Worker&)          Nothing was to be changed.
//   step out_of_memory(Worker&)                                The leaf had to split and could not.
// and, where something may hold writes off some keys (runtime/hierarchy/gate.hpp),
//   bool admitted(Worker&)      Under the latch, before commit(): whether the entry may change now.
//   step refused(Worker&)       It may not, or decide() said so; the latch is free, nothing was changed.
#pragma once

#include "index/adaptation.hpp"
#include "index/lookup_task.hpp"
#include "index/separator_task.hpp"
#include "index/update_decision.hpp"

namespace mxkv::index {

template <class Derived, class Traits>
class UpdateTask : public LeafEntryTask<Derived, Traits, UpdateScratch<Traits>> {
  using Base = LeafEntryTask<Derived, Traits, UpdateScratch<Traits>>;
  using Adapt = Adaptation<Traits>;

 public:
  static constexpr bool kWrites = true;
  using typename Base::NodeT;
  using typename Base::Scratch;
  using typename Base::SearchT;
  using typename Base::TreeT;

  /// The node that the task came down from: the leaf's parent, as long as that holds.
  [[gnu::always_inline]] void came_from(runtime::TaggedPointer node) noexcept {
    parent_ = static_cast<NodeT*>(node.object());
  }

  /// Lines of a record that the task touches before it decides. Derived may know better.
  [[nodiscard]] unsigned record_lines(std::uint64_t value) const noexcept {
    return Traits::Record::lines(value);
  }

  // For LeafEntryTask, on the fast path.
  template <class W>
  [[nodiscard, gnu::always_inline]] runtime::went fast_found(const FoundAtLeaf& found,
                                                             runtime::Worker& worker, runtime::step& next) {
    if constexpr (Traits::kExact) {
      return run_commit({found.at, hit::found, found.value}, found.head, worker, next);
    } else {
      at_ = found.at;
      return this->template await_record<W>(found.value, this->self().record_lines(found.value), next);
    }
  }
  template <class W>
  [[nodiscard, gnu::always_inline]] runtime::went fast_missing(const FoundAtLeaf& found,
                                                               runtime::Worker& worker, runtime::step& next) {
    if (!takes_in(found)) [[unlikely]] {
      return runtime::went::astray;
    }
    if (!this->here().fits_alone(found.meta, found.at)) [[unlikely]] {
      const beside lines = look_beside(found, worker);
      if (lines != beside::near) {
        next = runtime::step::again;
        return lines == beside::asked_for ? runtime::went::told : runtime::went::astray;
      }
    }
    return run_commit({found.at, hit::missing, 0}, found.head, worker, next);
  }

  /// After resume_item() found the key: the latch alone is missing.
  [[nodiscard]] runtime::went fast_commit(runtime::Worker& worker, runtime::step& next)
    requires(!Traits::kExact)
  {
    return run_commit(visited(), 0, worker, next);
  }

  /// Readers never get here: the target is entered as a writer.
  runtime::step resume_target(Scratch& /*scratch*/, runtime::Worker& worker) {
    return this->conflict(worker);
  }

  /// At the record of the only entry with our head.
  runtime::step resume_item([[maybe_unused]] runtime::Worker& worker) {
    if constexpr (!Traits::kExact) {
      const runtime::TaggedPointer leaf = this->visit_.leaf;
      if (!same_key(Traits::Record::key(this->visit_.value), this->self().key())) {
        this->enter(leaf);
        this->set_careful(!this->found_further_right(worker));
        return runtime::step::again;
      }
      // Back to the leaf at the version that named the record: only the latch is missing.
      this->annotate_lines(leaf, 0, 1);
      this->set_stage(stage::commit);
      const bool bound = leaf.synchronization() == runtime::primitive::optimistic_scheduling ||
                         Base::is_serialized(leaf.synchronization());
      return bound ? this->when_loaded() : runtime::step::now;
    }
    return runtime::step::done;
  }

  bool prepare(Scratch& scratch, runtime::Worker& worker, runtime::step& otherwise) {
    static_assert(UpdatesEntry<Derived, Traits>);
    Found& found = scratch.found;
    if (this->at_stage(stage::commit)) {
      if constexpr (!Traits::kExact) {
        found = visited();
      }
    } else if (scratch.what != TraverseScratch::kind::target) {
      otherwise = this->resume_node(scratch, worker);
      return false;
    } else if (scratch.meta.frozen()) [[unlikely]] {
      MXKV_PATH(wait_of_write);
      // It may be dead, and the key elsewhere by now: nothing is decided here, not even that the key is
      // absent.
      otherwise = this->wait_for_unlink();
      return false;
    } else if (found.what == hit::candidate) {
      if constexpr (!Traits::kExact) {
        at_ = found.at;
        otherwise = this->visit_record(found.value, this->self().record_lines(found.value));
      }
      return false;
    }
    return decide<false>(found, scratch.decision, worker, otherwise) &&
           (!scratch.inserts() || plan_insert(scratch, worker, otherwise));
  }

  void apply(Scratch& scratch, runtime::Worker& worker) {
    NodeT& leaf = this->here();
    MXKV_DCHECK(leaf.leaf(), "an update changes leaves");
    if (scratch.splits()) {
      scratch.overflow.ready() ? scratch.overflow.apply(leaf) : scratch.plan.split(leaf);
      return;
    }
    const bool changed =
        change(leaf, scratch.found, scratch.decision, worker,
               [&scratch, &leaf](std::uint64_t value) { scratch.plan.insert(leaf, scratch.head, value, 0); });
    if (!changed) [[unlikely]] {
      abandon(scratch, worker);
      scratch.decision.action = Decision::what::refuse;
    }
  }

  runtime::step finish(Scratch& scratch, runtime::Worker& worker) {
    if (scratch.decision.action == Decision::what::refuse) [[unlikely]] {
      return refuse(worker);
    }
    if (scratch.splits()) {
      if (scratch.overflow.ready()) {
        scratch.overflow.finish(this->tree(), *this, worker);
      } else {
        spawn_separator(this->tree(), scratch.plan, 1, *this, worker);
      }
      this->look_again();
      return runtime::step::again;
    }
    Adapt::wrote(this->tree(), this->here(), this->object(), parent_, worker);
    return changed(scratch.found, scratch.decision, worker);
  }

  /// The leaf is in another pool than the tag in its parent says.
  void forwarded(runtime::Worker& /*worker*/) noexcept { Adapt::tell(parent_, this->here()); }
  /// Another worker took the latch.
  void met_writer(runtime::Worker& worker) noexcept {
    Adapt::lost(this->tree(), this->here(), parent_, worker);
  }

  void abandon(Scratch& scratch, runtime::Worker& worker) {
    if (scratch.inserts()) {
      scratch.plan.abandon(worker);
      scratch.overflow.abandon(worker);
    }
  }

 protected:
  using Base::Base;

 private:
  /// The entry whose record resume_item() has found to be the key's.
  [[nodiscard]] Found visited() const noexcept { return {at_, hit::found, this->visit_.value}; }

  /// Whether a leaf, as it was read, may take in a new entry as it is. A frozen one takes in nothing.
  [[nodiscard, gnu::always_inline]] bool takes_in(const FoundAtLeaf& found) const noexcept {
    MXKV_PATH(fast_insert);
    return !found.meta.frozen() && !Prefix<Traits>::lacks_loose(this->here(), found.meta, this->self().key());
  }

  /// Whether the lines that an insert into a full block also writes are near; those of a new block are.
  enum class beside : std::uint8_t {
    near,
    asked_for,
    nowhere,  ///< the leaf is full: it overflows, or is to be split
  };
  /// Prefetches these lines once; for a full leaf, its lines and a new leaf's, and then its right
  /// neighbour's.
  [[nodiscard, gnu::noinline]] beside look_beside(const FoundAtLeaf& found, runtime::Worker& worker) {
    const unsigned block = found.at.block, to = NodeT::room_beside(found.meta, block);
    if (to == block && this->here().can_open_block(found.meta, found.at) &&
        found.meta.blocks() < this->tree().most_blocks(true)) {
      MXKV_PATH(fast_new_block);
      return beside::near;
    }
    if (this->annotations().line_count < Base::kAskedBeside) {
      this->here().prefetch_beside(block, to, true);
      if (to == block) {
        this->tree().prefetch_next_node(worker);
      }
      this->annotate_lines(this->object(), NodeT::first_line_of(block, true), Base::kAskedBeside);
      return beside::asked_for;
    }
    if (to == block) {
      return asks_right(block) ? beside::asked_for : beside::nowhere;
    }
    MXKV_PATH(fast_beside);
    return beside::near;
  }

  [[nodiscard]] bool asks_right(unsigned block) noexcept {
    const runtime::TaggedPointer right{this->here().right()};
    if (this->annotations().line_count == Base::kAskedRight || !right ||
        !OverflowPlan<Traits>::possible(this->tree(), parent_)) {
      return false;
    }
    NodeT::prefetch(right);
    this->annotate_lines(this->object(), NodeT::first_line_of(block, true), Base::kAskedRight);
    return true;
  }

  [[nodiscard, gnu::always_inline]] bool admits(runtime::Worker& worker) {
    if constexpr (requires { this->self().admitted(worker); }) {
      return this->self().admitted(worker);
    } else {
      return true;
    }
  }
  runtime::step refuse(runtime::Worker& worker) {
    if constexpr (requires { this->self().refused(worker); }) {
      return this->self().refused(worker);
    } else {
      MXKV_ASSERT(false, "who refuses offers refused()");
    }
  }

  // The steps of a write, in order: prepare(), apply() and finish() take them, and run_commit() in one go.
  /// Lets Derived decide about an entry as it was at seen_version(). True: it changes, and the latch is wanted.
  template <bool kFast>
  [[nodiscard, gnu::always_inline]] bool decide(const Found& found, Decision& decision,
                                                runtime::Worker& worker, runtime::step& otherwise) {
    if (waited_) [[unlikely]] {
      otherwise = turn_came();
      if (otherwise != runtime::step::now) {
        return false;
      }
    }
    decision = this->self().decide(found.found(), found.value, worker);
    switch (decision.action) {
      case Decision::what::put:
        return true;
      case Decision::what::remove:
      case Decision::what::in_place:
        MXKV_DCHECK(found.found(), "only an entry that is there is removed or changed in place");
        return true;
      case Decision::what::leave:
        if constexpr (kFast) {
          MXKV_PATH(fast_leave);
        }
        otherwise = this->self().left(found.found(), found.value, worker);
        return false;
      case Decision::what::wait:
        waited_ = true;
        if constexpr (!kFast) {
          MXKV_PATH(guarded_wait);
          this->look_again();
        } else {
          MXKV_PATH(fast_wait);  // it goes on from the same version, if that lasts
        }
        otherwise = runtime::step::parked;
        return false;
      case Decision::what::refuse:
        if constexpr (!kFast) {
          MXKV_PATH(guarded_refuse);
        } else {
          MXKV_PATH(fast_refuse);
        }
        otherwise = refuse(worker);
        return false;
    }
    return false;
  }

  /// Under the latch: changes the entry. False: it may not change now, and nothing was done.
  template <class Insert>
  [[nodiscard, gnu::always_inline]] bool change(NodeT& leaf, const Found& found, const Decision& decision,
                                                runtime::Worker& worker, const Insert& insert) {
    MXKV_DCHECK(!leaf.meta().frozen(), "nothing changes at a leaf that is on its way out");
    if (!admits(worker)) [[unlikely]] {
      return false;
    }
    const Change what = this->self().commit(leaf, found.found(), found.value, decision.value, worker);
    TreeT::keeps_order(leaf, what);
    if (this->tree().commits().heard()) [[unlikely]] {
      tell(leaf, what, decision.value, found.value, worker);
    }
    if (decision.action == Decision::what::remove) {
      leaf.erase(found.at);
    } else if (decision.action == Decision::what::put) {
      if (found.found()) {
        leaf.store_value(true, found.at, decision.value);
      } else {
        insert(decision.value);
      }
    } else {
      ask_to_change(found.value, worker);
    }
    return true;
  }

  /// Apart: without a listener, it costs one branch and no register.
  [[gnu::noinline]] void tell(const NodeT& leaf, const Change& what, std::uint64_t value, std::uint64_t old,
                              runtime::Worker& worker) noexcept {
    this->tree().tells(leaf, what, this->self().key(), value, old, worker);
  }

  void ask_to_change([[maybe_unused]] std::uint64_t old, [[maybe_unused]] runtime::Worker& worker) {
    if constexpr (requires { this->self().change_record(old, worker); }) {
      this->self().change_record(old, worker);
    } else {
      MXKV_ASSERT(false, "what changes records in place offers change_record()");
    }
  }

  /// After the latch.
  [[gnu::always_inline]] runtime::step changed(const Found& found, const Decision& decision,
                                               runtime::Worker& worker) {
    if (decision.action == Decision::what::remove && this->here().meta().thin()) [[unlikely]] {
      spawn_unlink(this->tree(), this->here(), *this, worker);
    }
    return this->self().committed(found.found(), found.value, worker);
  }

  /// All steps in one, for an entry that is there or finds room. Astray: nothing was done.
  [[nodiscard]] runtime::went run_commit(const Found& found, std::uint64_t head, runtime::Worker& worker,
                                         runtime::step& next) {
    if (this->object().synchronization() != runtime::primitive::optimistic_latch) {
      return runtime::went::astray;
    }
    NodeT& leaf = this->here();
    Decision decision;
    if (!runtime::OptimisticRead{leaf, this->seen_version()}.valid() && !still_there(found)) [[unlikely]] {
      MXKV_PATH(fast_conflict);
      next = this->conflict(worker);
      return runtime::went::told;
    }
    if (!decide<true>(found, decision, worker, next)) {
      return runtime::went::told;
    }
    runtime::WriteLatch latch = runtime::WriteLatch::upgrade(leaf, this->seen_version());
    if (!latch) [[unlikely]] {
      MXKV_PATH(fast_conflict);
      met_writer(worker);
      next = this->conflict(worker);
      return runtime::went::told;
    }
    const bool may = change(leaf, found, decision, worker,
                            [&](std::uint64_t value) { leaf.insert(found.at, head, value, 0); });
    if (!may) [[unlikely]] {
      latch.release_unchanged();
      next = refuse(worker);
      return runtime::went::told;
    }
    latch.release();
    MXKV_PATH(fast_commit);
    next = changed(found, decision, worker);
    return runtime::went::told;
  }

  /// The leaf has changed since the record was found: whether the entry is still where it was; if so, takes
  /// the leaf's present version. While the task is pinned there is no other record at that address.
  [[nodiscard, gnu::noinline]] bool still_there([[maybe_unused]] const Found& found) noexcept {
    if constexpr (!Traits::kExact) {
      const NodeT& leaf = this->here();
      const runtime::OptimisticRead read{leaf};
      const NodeMeta meta = leaf.meta();
      const bool holds = found.found() && !read.locked() && !meta.frozen() &&
                         found.at.block < meta.blocks() &&
                         found.at.slot < NodeT::clamp_count(meta, found.at.block) &&
                         leaf.value(true, found.at) == found.value;
      if (holds && read.valid()) {
        MXKV_PATH(fast_still_there);
        this->see_version(read.version());
        return true;
      }
    }
    return false;
  }

  /// After a wait, at the leaf: step::now if the leaf is of the present tree. The operation that it waited
  /// for may have followed a clear, and the task must then follow the clear, too.
  runtime::step turn_came() noexcept {
    waited_ = false;
    const auto* const root = static_cast<const NodeT*>(this->tree().root().object());
    if (this->here().life().generation() == root->life().generation()) [[likely]] {
      return runtime::step::now;
    }
    MXKV_PATH(waited_over_clear);
    return this->restart(false);
  }

  bool plan_insert(Scratch& scratch, runtime::Worker& worker, runtime::step& otherwise) {
    NodeT& leaf = this->here();
    if (scratch.plan.choose(this->tree(), leaf, scratch.meta, this->self().key(), scratch.found.at) !=
        InsertPlan<Traits>::how::split) {
      return true;
    }
    NodeT* const parent = scratch.plan.in_order() ? nullptr : parent_;
    const overflow way = scratch.overflow.plan(this->tree(), leaf, this->seen_version(), parent, worker);
    if (way != overflow::impossible) {
      otherwise = way == overflow::torn ? this->conflict(worker) : otherwise;
      return way == overflow::ready;
    }
    switch (scratch.plan.plan_split(this->tree(), leaf, this->seen_version(), scratch.meta, worker)) {
      case planned::ready:
        return true;
      case planned::torn:
        otherwise = this->conflict(worker);
        return false;
      case planned::out_of_memory:
        otherwise = this->self().out_of_memory(worker);
        return false;
    }
    return false;
  }

  Position at_;
  bool waited_ = false;  ///< for its turn, at the leaf
  NodeT* parent_ = nullptr;
};

}  // namespace mxkv::index
