// A write of one key: insert, replace, remove, change in place, or leave alone, as Derived decides once it
// knows what is there.
//
// At the leaf the task searches optimistically, lets Derived decide and prepare (allocate, build) outside the
// latch, takes the latch from the version it searched at, and only compares-and-swaps under it; if the
// version moved, it searches and decides again. Inserting into a full leaf splits it first and comes back.
//
// Derived (CRTP) gives
//   Key key() const
//   Decision decide(bool found, std::uint64_t old, Worker&)
//       Outside the latch; may be called again. `old` is safe to read under the pin.
//   void commit(NodeT& leaf, bool found, std::uint64_t old, std::uint64_t value, Worker&)
//       Under the latch, just before the entry changes: mint, log. Must not fail. The one commit hook.
//   step committed(bool found, std::uint64_t old, Worker&)     After the latch; retires `old`, answers.
//   step left(bool found, std::uint64_t old, Worker&)          Nothing was to be changed.
//   step out_of_memory(Worker&)                                The leaf had to split and could not.
// and, where something may hold writes off some keys (runtime/hierarchy/gate.hpp),
//   bool admitted(Worker&)      Under the latch, before commit(): whether the entry may change now.
//   step refused(Worker&)       It may not, or decide() said so; the latch is free, nothing was changed.
#pragma once

#include "index/lookup_task.hpp"
#include "index/separator_task.hpp"

namespace mxkv::index {

/// What a write does to the entry.
struct Decision {
  enum class what : std::uint8_t {
    leave,     ///< nothing: left() follows
    put,       ///< insert or replace with `value`
    remove,    ///< only if found
    in_place,  ///< commit() changes the record itself; only if found
    wait,      ///< not yet: the task is parked with whoever will spawn it again
    refuse,    ///< not yet: refused() follows
  };
  what action = what::leave;
  std::uint64_t value = 0;
};

template <class Traits>
struct UpdateScratch : LookupScratch {
  Decision decision;
  InsertPlan<Traits> plan;
};

template <class Derived, class Traits>
class UpdateTask : public TraverseTask<Derived, Traits, UpdateScratch<Traits>> {
  using Base = TraverseTask<Derived, Traits, UpdateScratch<Traits>>;

 public:
  static constexpr bool kWrites = true;
  using typename Base::NodeT;
  using typename Base::Scratch;
  using typename Base::SearchT;
  using typename Base::TreeT;

  void inspect_target(const NodeT& node, NodeMeta meta, std::uint64_t head, unsigned block,
                      const runtime::OptimisticRead& read, Scratch& scratch) const noexcept {
    detail::find_in_leaf<SearchT>(node, meta, this->self().key(), head, block, this->careful(), read,
                                  scratch);
  }

  /// Lines of a record that the task touches before it decides. Derived may know better.
  [[nodiscard]] unsigned record_lines(std::uint64_t value) const noexcept {
    return Traits::Record::lines(value);
  }

  [[nodiscard, gnu::always_inline]] bool fast_target(const NodeT& node, NodeMeta meta, Rank rank,
                                                     unsigned block, const runtime::OptimisticRead& read,
                                                     runtime::Worker& worker, runtime::step& next) {
    if (meta.ties()) [[unlikely]] {
      return false;
    }
    const unsigned slot = node.count_below(true, block, rank);
    const Position at = SearchT::position(block, slot);
    if (!node.holds_rank(true, block, slot, rank)) {
      // A new entry, if it finds room where it belongs.
      MXKV_PATH(fast_insert);
      return !meta.frozen() && node.fits(meta, at) &&
             Prefix<Traits>::shares(node, meta, this->self().key()) && read.valid() &&
             commit_fast({at, false, 0, head_of_rank(static_cast<std::uint64_t>(rank))}, worker, next);
    }
    const std::uint64_t value = node.value(true, at);
    if (!read.valid()) [[unlikely]] {
      return false;
    }
    if constexpr (Traits::kExact) {
      return commit_fast({at, true, value, 0}, worker, next);
    } else {
      next = visit_record(value, at);
      return true;
    }
  }

  /// After resume_item() found the key: the latch alone is missing.
  [[nodiscard]] bool fast_commit(runtime::Worker& worker, runtime::step& next)
    requires(!Traits::kExact)
  {
    return commit_fast({at_, true, visit_.value, 0}, worker, next);
  }

  /// Readers never get here: the target is entered as a writer.
  runtime::step resume_target(Scratch& /*scratch*/, runtime::Worker& worker) {
    return this->conflict(worker);
  }

  /// At the record of the only entry with our head.
  runtime::step resume_item(runtime::Worker& /*worker*/) {
    if constexpr (!Traits::kExact) {
      const runtime::TaggedPointer leaf = visit_.leaf;
      if (Traits::Record::key(visit_.value) != this->self().key()) {
        this->set_careful(true);
        this->enter(leaf);
        return runtime::step::again;
      }
      // Back to the leaf at the version that named the record: only the latch is missing.
      this->annotate_lines(leaf, 0, 1);
      this->set_stage(stage::commit);
      const bool bound = leaf.synchronization() == runtime::primitive::optimistic_scheduling ||
                         leaf.synchronization() == runtime::primitive::serialized_by_scheduling;
      return bound ? this->when_loaded() : runtime::step::now;
    }
    return runtime::step::done;
  }

  bool prepare(Scratch& scratch, runtime::Worker& worker, runtime::step& otherwise) {
    if (this->at_stage(stage::commit)) {
      if constexpr (!Traits::kExact) {
        scratch.found.found = true;
        scratch.found.value = visit_.value;
        scratch.found.at = at_;
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
    } else if (scratch.found.candidate) {
      otherwise = visit_record(scratch.found.value, scratch.found.at);
      return false;
    }
    if (waited_) [[unlikely]] {
      otherwise = turn_came();
      if (otherwise != runtime::step::now) {
        return false;
      }
    }
    const Found& found = scratch.found;
    scratch.decision = this->self().decide(found.found, found.value, worker);
    switch (scratch.decision.action) {
      case Decision::what::leave:
        otherwise = this->self().left(found.found, found.value, worker);
        return false;
      case Decision::what::wait:
        MXKV_PATH(guarded_wait);
        waited_ = true;
        this->look_again();
        otherwise = runtime::step::parked;
        return false;
      case Decision::what::refuse:
        MXKV_PATH(guarded_refuse);
        otherwise = refuse(worker);
        return false;
      case Decision::what::put:
        return found.found || plan_insert(scratch, worker, otherwise);
      case Decision::what::remove:
      case Decision::what::in_place:
        MXKV_DCHECK(found.found, "only an entry that is there is removed or changed in place");
        return true;
    }
    return false;
  }

  void apply(Scratch& scratch, runtime::Worker& worker) {
    NodeT& leaf = this->here();
    const Found& found = scratch.found;
    const std::uint64_t value = scratch.decision.value;
    const bool puts = scratch.decision.action == Decision::what::put;
    if (puts && !found.found && scratch.plan.splits()) {
      scratch.plan.split(leaf);
      return;
    }
    if (!admits(worker)) [[unlikely]] {
      abandon(scratch, worker);
      scratch.decision.action = Decision::what::refuse;
      return;
    }
    this->self().commit(leaf, found.found, found.value, value, worker);
    if (scratch.decision.action == Decision::what::remove) {
      leaf.erase(found.at);
    } else if (puts && found.found) {
      leaf.store_value(true, found.at, value);
    } else if (puts) {
      scratch.plan.insert(leaf, Prefix<Traits>::head(leaf, leaf.meta(), this->self().key()), value, 0);
    }
  }

  runtime::step finish(Scratch& scratch, runtime::Worker& worker) {
    if (scratch.decision.action == Decision::what::refuse) [[unlikely]] {
      return refuse(worker);
    }
    if (scratch.decision.action == Decision::what::put && !scratch.found.found && scratch.plan.splits()) {
      spawn_separator(this->tree(), scratch.plan, 1, *this, worker);
      this->look_again();
      return runtime::step::again;
    }
    if (scratch.decision.action == Decision::what::remove) {
      if (this->here().meta().thin()) [[unlikely]] {
        spawn_unlink(this->tree(), this->here(), *this, worker);
      }
    }
    return this->self().committed(scratch.found.found, scratch.found.value, worker);
  }

  void abandon(Scratch& scratch, runtime::Worker& worker) {
    if (scratch.decision.action == Decision::what::put && !scratch.found.found) {
      scratch.plan.abandon(worker);
    }
  }

 protected:
  using Base::Base;

 private:
  /// An entry of the leaf as it was at seen_version(), or where there is room for it.
  struct Place {
    Position at;
    bool found;
    std::uint64_t old;   ///< if found
    std::uint64_t head;  ///< if not
  };

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

  /// Does what prepare(), apply() and finish() would, for those decisions that need no more than the latch.
  /// False: nothing was done.
  [[nodiscard]] bool commit_fast(const Place& place, runtime::Worker& worker, runtime::step& next) {
    if (this->object().synchronization() != runtime::primitive::optimistic_latch) {
      return false;
    }
    NodeT& leaf = this->here();
    if (!runtime::OptimisticRead{leaf, this->seen_version()}.valid()) [[unlikely]] {
      MXKV_PATH(fast_conflict);
      next = this->conflict(worker);
      return true;
    }
    if (waited_) [[unlikely]] {
      next = turn_came();
      if (next != runtime::step::now) {
        return true;
      }
    }
    const Decision decision = this->self().decide(place.found, place.old, worker);
    switch (decision.action) {
      case Decision::what::leave:
        MXKV_PATH(fast_leave);
        next = this->self().left(place.found, place.old, worker);
        return true;
      case Decision::what::wait:
        MXKV_PATH(fast_wait);
        waited_ = true;
        next = runtime::step::parked;  // and goes on from the same version, if that lasts
        return true;
      case Decision::what::refuse:
        MXKV_PATH(fast_refuse);
        next = refuse(worker);
        return true;
      case Decision::what::remove:
        return false;
      case Decision::what::put:
      case Decision::what::in_place:
        break;
    }
    runtime::WriteLatch latch = runtime::WriteLatch::upgrade(leaf, this->seen_version());
    if (!latch) [[unlikely]] {
      MXKV_PATH(fast_conflict);
      next = this->conflict(worker);
      return true;
    }
    if (!admits(worker)) [[unlikely]] {
      latch.release_unchanged();
      next = refuse(worker);
      return true;
    }
    this->self().commit(leaf, place.found, place.old, decision.value, worker);
    if (decision.action == Decision::what::put) {
      if (place.found) {
        leaf.store_value(true, place.at, decision.value);
      } else {
        leaf.insert(place.at, place.head, decision.value, 0);
      }
    }
    latch.release();
    MXKV_PATH(fast_commit);
    next = this->self().committed(place.found, place.old, worker);
    return true;
  }

  /// After a wait, at the leaf: now if the tree is still the one that the leaf is of. What it waited for may
  /// have followed a clear, and what it finds must follow that.
  runtime::step turn_came() noexcept {
    waited_ = false;
    const auto* const root = static_cast<const NodeT*>(this->tree().root().object());
    if (this->here().life().generation() == root->life().generation()) [[likely]] {
      return runtime::step::now;
    }
    MXKV_PATH(waited_over_clear);
    return this->restart(false);
  }

  runtime::step visit_record(std::uint64_t value, Position at) noexcept {
    if constexpr (!Traits::kExact) {
      visit_.leaf = this->object();
      visit_.value = value;
      at_ = at;
      using Record = typename Traits::Record;
      this->annotate_lines(runtime::TaggedPointer::unsynchronized(Record::address(value)), 0,
                           this->self().record_lines(value));
      this->set_stage(stage::item);
    }
    return this->when_loaded();
  }

  bool plan_insert(Scratch& scratch, runtime::Worker& worker, runtime::step& otherwise) {
    switch (scratch.plan.plan(this->tree(), this->here(), this->seen_version(), this->self().key(),
                              scratch.found.at, worker)) {
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

  [[no_unique_address]] detail::RecordVisit<Traits::kExact> visit_;
  Position at_;
  bool waited_ = false;  ///< for its turn, at the leaf
};

}  // namespace mxkv::index
