// Removes many entries in key order: all of one leaf that are to go, under one latch.
//
// The leaf is copied out under a validated version and judged outside of the latch; the latch is taken from
// that version, and under it entries are only erased. Then the task descends again for the leaf's high fence,
// which it keeps as a key. Each leaf is one moment; the whole is not. Every kLeavesPerPin leaves it gives up
// its pin.
//
// Derived (CRTP) gives
//   Key key() const                   first key that is not judged yet
//   void set_key(Key)                 keeps a copy as the new key()
//   verdict judge(std::uint64_t head, std::uint64_t value, Tally&, Worker&)
//     for each entry from key() on, in order, outside of the latch; a leaf may be judged again, with a new
//     Tally
//   void erasing(NodeT& leaf, std::uint64_t value)     under the latch, before the entry goes; must not fail
//   void erased(std::uint64_t value, Worker&)          after the latch: retires it
//   void judged(const Tally&)                          the leaf is done
//   void rewrite(NodeT& leaf, const Tally&)            may be given: under the latch; must not fail
//     The latch is taken then even if nothing is erased.
//   step finished(Worker&)                             all seen, or judge() said stop
#pragma once

#include "index/lookup_task.hpp"
#include "index/unlink_task.hpp"

namespace mxkv::index {

/// What becomes of an entry.
enum class verdict : std::uint8_t { keep, erase, stop };

template <class Tally>
struct EraseScratch : TraverseScratch {
  Entries entries;
  std::array<Position, Entries::kMax> at;
  std::array<std::uint8_t, Entries::kMax> doomed;  ///< indices of entries to erase, in order
  unsigned doomed_count;
  std::uint64_t head;  ///< of key() in this leaf
  std::uint64_t high;
  bool stop;
  Tally tally;
};

template <class Derived, class Traits, class Tally>
class EraseTask : public TraverseTask<Derived, Traits, EraseScratch<Tally>> {
  using Base = TraverseTask<Derived, Traits, EraseScratch<Tally>>;

 public:
  static constexpr bool kWrites = true;
  static constexpr bool kWholeTarget = true;
  static constexpr unsigned kLeavesPerPin = 16;
  /// Whether Derived wants the whole leaf of key(), and no other. May be shadowed.
  static constexpr bool kOneLeaf = false;
  using typename Base::NodeT;
  using typename Base::Scratch;
  using typename Base::SearchT;

  void inspect_target(const NodeT& node, NodeMeta meta, std::uint64_t head, unsigned /*block*/,
                      const runtime::OptimisticRead& read, Scratch& scratch) const noexcept {
    node.copy_entries(meta, false, scratch.entries);
    unsigned n = 0;
    for (unsigned block = 0; block < meta.blocks() && block < Traits::Shape::blocks(true); ++block) {
      for (unsigned slot = 0; slot < NodeT::clamp_count(meta, block); ++slot) {
        scratch.at[n++] = SearchT::position(block, slot);
      }
    }
    scratch.head = head;
    scratch.high = node.high();
    if (!Traits::kExact) {
      detail::settle_route(SearchT::inside(node, meta, this->self().key(), head, false, read), node, scratch);
    }
  }

  /// Readers never get here: the target is entered as a writer.
  runtime::step resume_target(Scratch& /*scratch*/, runtime::Worker& worker) {
    return this->conflict(worker);
  }

  bool prepare(Scratch& scratch, runtime::Worker& worker, runtime::step& otherwise) {
    if (scratch.what != TraverseScratch::kind::target) {
      otherwise = this->resume_node(scratch, worker);
      return false;
    }
    judge_leaf(scratch, worker);
    if (scratch.doomed_count == 0 && !kRewrites) {
      otherwise = go_on(scratch, worker);
      return false;
    }
    return true;
  }

  void apply(Scratch& scratch, runtime::Worker& /*worker*/) {
    NodeT& leaf = this->here();
    for (unsigned n = scratch.doomed_count; n-- > 0;) {  // from the last: the others stay where they are
      const unsigned i = scratch.doomed[n];
      this->self().erasing(leaf, scratch.entries.values[i]);
      leaf.erase(scratch.at[i]);
    }
    if constexpr (kRewrites) {
      this->self().rewrite(leaf, scratch.tally);
    }
  }

  runtime::step finish(Scratch& scratch, runtime::Worker& worker) {
    if (this->here().meta().thin()) {
      spawn_unlink(this->tree(), this->here(), *this, worker);
    }
    for (unsigned n = 0; n < scratch.doomed_count; ++n) {
      this->self().erased(scratch.entries.values[scratch.doomed[n]], worker);
    }
    return go_on(scratch, worker);
  }

  void abandon(Scratch& /*scratch*/, runtime::Worker& /*worker*/) noexcept {}

  runtime::step resume_item(runtime::Worker& /*worker*/) { return runtime::step::done; }

 protected:
  using Base::Base;

 private:
  /// Whether an entry comes before key(). Its record is safe to read: the version held, and the task pins.
  [[nodiscard]] bool precedes(const Scratch& scratch, unsigned i) const noexcept {
    if (scratch.entries.heads[i] != scratch.head) {
      return scratch.entries.heads[i] < scratch.head;
    }
    if constexpr (Traits::kExact) {
      return false;
    } else {
      return Traits::Record::key(scratch.entries.values[i]) < this->self().key();
    }
  }

  static constexpr unsigned kRecordLines = 1;  ///< that judge() reads, as a rule
  static constexpr bool kRewrites =
      requires(Derived& derived, NodeT& leaf, const Tally& tally) { derived.rewrite(leaf, tally); };

  void judge_leaf(Scratch& scratch, runtime::Worker& worker) {
    scratch.doomed_count = 0;
    scratch.stop = false;
    scratch.tally = {};
    const unsigned count = scratch.entries.count;
    for (unsigned n = 0; n < std::min(detail::kRecordsAhead, count); ++n) {
      detail::prefetch_record<Traits>(scratch.entries.values[n], kRecordLines);
    }
    unsigned i = 0;
    while (!Derived::kOneLeaf && i < scratch.entries.count && precedes(scratch, i)) {
      ++i;
    }
    for (; i < count; ++i) {
      if (i + detail::kRecordsAhead < count) {
        detail::prefetch_record<Traits>(scratch.entries.values[i + detail::kRecordsAhead], kRecordLines);
      }
      switch (
          this->self().judge(scratch.entries.heads[i], scratch.entries.values[i], scratch.tally, worker)) {
        case verdict::keep:
          break;
        case verdict::erase:
          scratch.doomed[scratch.doomed_count++] = static_cast<std::uint8_t>(i);
          break;
        case verdict::stop:
          scratch.stop = true;
          return;
      }
    }
  }

  runtime::step go_on(const Scratch& scratch, runtime::Worker& worker) {
    this->self().judged(scratch.tally);
    if (Derived::kOneLeaf || scratch.stop || scratch.meta.high_infinite()) {
      return this->self().finished(worker);
    }
    this->self().set_key(Traits::fence_key(scratch.high));
    if (++leaves_ % kLeavesPerPin == 0) {
      worker.repin(*this);
    }
    return this->restart(false);
  }

  std::uint32_t leaves_ = 0;
};

}  // namespace mxkv::index
