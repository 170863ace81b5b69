// Edits many entries in key order: all entries of one leaf that are to go, or to change, under one latch.
//
// The leaf is copied out under a validated version and judged outside of the latch; the latch is taken from
// that version, and under it entries are only erased, replaced or changed in place. Then the task descends
// again for the leaf's high fence, which it keeps as a key. Each leaf is one moment; the whole is not. Every
// kLeavesPerPin leaves it gives up its pin.
//
// Derived (CRTP) gives
//   Key key() const                   first key that is not judged yet
//   void set_key(Key)                 keeps a copy as the new key()
//   verdict judge(std::uint64_t head, std::uint64_t value, Tally&, Worker&)
//     for each entry from key() on, in order, outside of the latch; a leaf may be judged again, with a new
//     Tally
//   void judges_up_to(Key high, bool infinite)         may be given: before judge(); the leaf's high fence, if
//     it has one
//   Change erasing(NodeT& leaf, std::uint64_t value, Worker&)  under the latch, before the entry goes; must
//     not fail; returns the change for the tree's listener (commit_point.hpp), as the next two
//   void erased(std::uint64_t value, Worker&)          after the latch: retires it
// where judge() replaces
//   std::uint64_t replacement(std::uint64_t value, Worker&)    outside of the latch; 0: out of memory
//   Change replacing(NodeT& leaf, std::uint64_t value, std::uint64_t by, Worker&)    under the latch
//   void replaced(std::uint64_t value, std::uint64_t by, Worker&)       after the latch: retires `value`
//   void unmade(std::uint64_t by, Worker&)             the leaf changed meanwhile: the replacement goes
//   step out_of_memory(Worker&)                        nothing of this leaf was changed
// where judge() changes in place
//   Change changing(NodeT& leaf, std::uint64_t value, Worker&)  under the latch, before it changes
//   void change_record(std::uint64_t value, Worker&)            after changing(); must not fail
//   void changed(std::uint64_t value, Worker&)         may be given: after the latch
//   void judged(const Tally&, Worker&)                 the leaf is done
//   void rewrite(NodeT& leaf, const Tally&)            may be given: under the latch; must not fail
//     The latch is taken then even if nothing is erased.
//   bool refuses(std::uint64_t value, Worker&)         may be given: under the latch, before anything
//     changes, for each entry that is to change; true: something holds writes off it
//     (runtime/hierarchy/gate.hpp)
//   step refused(Worker&)                              after that; nothing of this leaf was changed
//   step finished(Worker&)                             all entries seen, or judge() said stop
#pragma once

#include "index/lookup_task.hpp"
#include "index/unlink_task.hpp"

namespace mxkv::index {

/// The judgement of an entry.
enum class verdict : std::uint8_t { keep, erase, replace, change, stop };

namespace detail {
template <bool Replaces>
struct Replacements {
  std::array<std::uint64_t, Entries::kMax> words;  ///< by edit; 0: none
};
template <>
struct Replacements<false> {};
}  // namespace detail

template <class Tally, bool Replaces>
struct EditScratch : TraverseScratch {
  /// One of the entries that are to go or change.
  struct Edit {
    std::uint8_t entry;  ///< its index
    verdict what;
  };
  Entries entries;
  std::array<Position, Entries::kMax> at;
  std::array<Edit, Entries::kMax> edits;  ///< in the order of entries
  unsigned edit_count;
  [[no_unique_address]] detail::Replacements<Replaces> by;
  std::uint64_t high;
  bool stop;
  bool refused;
  Tally tally;
};

/// The functions that a task that edits offers; see above.
template <class T, class Traits, class Tally>
concept EditsEntries =
    requires(T task, const Tally& found, Tally& tally, typename Traits::Key key, std::uint64_t word,
             Node<typename Traits::Shape>& leaf, runtime::Worker& worker) {
      { task.key() } -> std::convertible_to<typename Traits::Key>;
      task.set_key(key);
      { task.judge(word, word, tally, worker) } -> std::same_as<verdict>;
      { task.erasing(leaf, word, worker) } -> std::same_as<Change>;
      task.erased(word, worker);
      task.judged(found, worker);
      { task.finished(worker) } -> std::same_as<runtime::step>;
    };

/// The functions that a task that replaces entries offers as well.
template <class T, class Traits>
concept ReplacesEntries =
    requires(T task, std::uint64_t word, Node<typename Traits::Shape>& leaf, runtime::Worker& worker) {
      { task.replacement(word, worker) } -> std::same_as<std::uint64_t>;
      { task.replacing(leaf, word, word, worker) } -> std::same_as<Change>;
      task.replaced(word, word, worker);
      task.unmade(word, worker);
      { task.out_of_memory(worker) } -> std::same_as<runtime::step>;
    };

/// `Replaces`: whether judge() may return verdict::replace.
template <class Derived, class Traits, class Tally, bool Replaces = false>
class EditTask : public TraverseTask<Derived, Traits, EditScratch<Tally, Replaces>> {
  using Base = TraverseTask<Derived, Traits, EditScratch<Tally, Replaces>>;

 public:
  static constexpr bool kWrites = true;
  static constexpr bool kWholeTarget = true;
  static constexpr unsigned kLeavesPerPin = 16;
  /// Whether Derived wants the whole leaf of key(), and no other. May be shadowed.
  static constexpr bool kOneLeaf = false;
  using typename Base::NodeT;
  using typename Base::Scratch;
  using typename Base::SearchT;

  TraverseScratch::kind inspect_target(const NodeT& node, const runtime::OptimisticRead& read,
                                       Scratch& scratch) const noexcept {
    const NodeMeta meta = scratch.meta;
    node.copy_entries(meta, false, scratch.entries);
    unsigned n = 0;
    for (unsigned block = 0; block < meta.blocks() && block < Traits::Shape::blocks(true); ++block) {
      for (unsigned slot = 0; slot < NodeT::clamp_count(meta, block); ++slot) {
        scratch.at[n++] = SearchT::position(block, slot);
      }
    }
    scratch.high = node.high();
    if (!Traits::kExact) {
      return detail::away(SearchT::inside(node, meta, this->self().key(), scratch.head, false, read), node,
                          scratch);
    }
    return TraverseScratch::kind::target;
  }

  /// Readers never get here: the target is entered as a writer.
  runtime::step resume_target(Scratch& /*scratch*/, runtime::Worker& worker) {
    return this->conflict(worker);
  }

  bool prepare(Scratch& scratch, runtime::Worker& worker, runtime::step& otherwise) {
    static_assert(EditsEntries<Derived, Traits, Tally>);
    static_assert(!Replaces || ReplacesEntries<Derived, Traits>);
    if (scratch.what != TraverseScratch::kind::target) {
      otherwise = this->resume_node(scratch, worker);
      return false;
    }
    judge_leaf(scratch, worker);
    if (scratch.edit_count == 0 && (!kRewrites || scratch.meta.frozen())) {
      otherwise = go_on(scratch, worker);
      return false;
    }
    if constexpr (Replaces) {
      if (!make_replacements(scratch, worker)) {
        otherwise = this->self().out_of_memory(worker);
        return false;
      }
    }
    return true;
  }

  void apply(Scratch& scratch, runtime::Worker& worker) {
    scratch.refused = refuses(scratch, worker);
    if (scratch.refused) [[unlikely]] {
      return;
    }
    NodeT& leaf = this->here();
    MXKV_ASSERT(leaf.leaf() && !leaf.meta().frozen(), "nothing changes at a leaf that is on its way out");
    for (unsigned n = scratch.edit_count; n-- > 0;) {  // from the last: the others stay where they are
      const unsigned i = scratch.edits[n].entry;
      const std::uint64_t value = scratch.entries.values[i];
      if constexpr (Replaces) {
        if (scratch.edits[n].what == verdict::replace) {
          const std::uint64_t by = scratch.by.words[n];
          pass(leaf, scratch, i, this->self().replacing(leaf, value, by, worker), by, worker);
          leaf.store_value(true, scratch.at[i], scratch.by.words[n]);
          continue;
        }
      }
      if constexpr (kChanges) {
        if (scratch.edits[n].what == verdict::change) {
          pass(leaf, scratch, i, this->self().changing(leaf, value, worker), value, worker);
          this->self().change_record(value, worker);
          continue;
        }
      }
      pass(leaf, scratch, i, this->self().erasing(leaf, value, worker), 0, worker);
      leaf.erase(scratch.at[i]);
    }
    if constexpr (kRewrites) {
      this->self().rewrite(leaf, scratch.tally);
    }
  }

  runtime::step finish(Scratch& scratch, runtime::Worker& worker) {
    if constexpr (kMayRefuse) {
      if (scratch.refused) [[unlikely]] {
        abandon(scratch, worker);
        return this->self().refused(worker);
      }
    }
    if (this->here().meta().thin()) {
      spawn_unlink(this->tree(), this->here(), *this, worker);
    }
    for (unsigned n = 0; n < scratch.edit_count; ++n) {
      const std::uint64_t value = scratch.entries.values[scratch.edits[n].entry];
      if constexpr (Replaces) {
        if (scratch.edits[n].what == verdict::replace) {
          this->self().replaced(value, scratch.by.words[n], worker);
        }
      }
      if constexpr (kTellsChanges) {
        if (scratch.edits[n].what == verdict::change) {
          this->self().changed(value, worker);
        }
      }
      if (scratch.edits[n].what == verdict::erase) {
        this->self().erased(value, worker);
      }
    }
    return go_on(scratch, worker);
  }

  void abandon(Scratch& scratch, runtime::Worker& worker) noexcept {
    if constexpr (Replaces) {
      for (unsigned n = 0; n < scratch.edit_count; ++n) {
        if (scratch.edits[n].what == verdict::replace && scratch.by.words[n] != 0) {
          this->self().unmade(scratch.by.words[n], worker);
        }
      }
    }
  }

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

  void pass(NodeT& leaf, const Scratch& scratch, unsigned i, const Change& what, std::uint64_t value,
            runtime::Worker& worker) noexcept {
    const std::uint64_t old = scratch.entries.values[i];
    if constexpr (Traits::kExact) {
      this->tree().passes(leaf, what, scratch.entries.heads[i], value, old, worker);
    } else {
      this->tree().passes(leaf, what, Traits::Record::key(old), value, old, worker);
    }
  }

  static constexpr unsigned kRecordLines = 1;  ///< that judge() reads, as a rule
  static constexpr bool kRewrites =
      requires(Derived& derived, NodeT& leaf, const Tally& tally) { derived.rewrite(leaf, tally); };
  static constexpr bool kChanges =
      requires(Derived& derived, NodeT& leaf, runtime::Worker& worker) { derived.changing(leaf, 0, worker); };
  static constexpr bool kTellsChanges =
      requires(Derived& derived, runtime::Worker& worker) { derived.changed(0, worker); };
  static constexpr bool kMayRefuse =
      requires(Derived& derived, runtime::Worker& worker) { derived.refuses(0, worker); };

  [[nodiscard]] bool make_replacements(Scratch& scratch, runtime::Worker& worker) {
    scratch.by.words.fill(0);
    for (unsigned n = 0; n < scratch.edit_count; ++n) {
      if (scratch.edits[n].what != verdict::replace) {
        continue;
      }
      scratch.by.words[n] = this->self().replacement(scratch.entries.values[scratch.edits[n].entry], worker);
      if (scratch.by.words[n] == 0) {
        abandon(scratch, worker);
        return false;
      }
    }
    return true;
  }

  [[nodiscard]] bool refuses([[maybe_unused]] const Scratch& scratch,
                             [[maybe_unused]] runtime::Worker& worker) {
    if constexpr (kMayRefuse) {
      for (unsigned n = 0; n < scratch.edit_count; ++n) {
        if (this->self().refuses(scratch.entries.values[scratch.edits[n].entry], worker)) {
          return true;
        }
      }
    }
    return false;
  }

  void judge_leaf(Scratch& scratch, runtime::Worker& worker) {
    scratch.edit_count = 0;
    scratch.stop = false;
    scratch.tally = {};
    if constexpr (requires { this->self().judges_up_to(Traits::fence_key(scratch.high), true); }) {
      this->self().judges_up_to(Traits::fence_key(scratch.high), scratch.meta.high_infinite());
    }
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
      const verdict what =
          this->self().judge(scratch.entries.heads[i], scratch.entries.values[i], scratch.tally, worker);
      if (what == verdict::stop) {
        scratch.stop = true;
        return;
      }
      MXKV_ASSERT(Replaces || what != verdict::replace, "a task that replaces says so by its type");
      MXKV_ASSERT(kChanges || what != verdict::change, "a task that changes in place offers changing()");
      if (what != verdict::keep) {
        scratch.edits[scratch.edit_count++] = {static_cast<std::uint8_t>(i), what};
      }
    }
  }

  runtime::step go_on(const Scratch& scratch, runtime::Worker& worker) {
    this->self().judged(scratch.tally, worker);
    if (Derived::kOneLeaf || scratch.stop || scratch.meta.high_infinite()) {
      return this->self().finished(worker);
    }
    MXKV_ASSERT(scratch.high != 0, "a leaf that is not the last one has a high fence");
    this->self().set_key(Traits::fence_key(scratch.high));
    return rescan(worker);
  }

  std::uint32_t leaves_ = 0;

 protected:
  /// Goes on from key(), now and then with a new pin.
  runtime::step rescan(runtime::Worker& worker) {
    if (++leaves_ % kLeavesPerPin == 0) {
      worker.repin(*this);
    }
    return this->restart(false);
  }
};

}  // namespace mxkv::index
