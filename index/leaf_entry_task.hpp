// A task that looks for one key's entry in the leaf where it belongs: the common part of look-ups and writes
// of one key. For byte keys the record is one more object to prefetch: a hop of its own.
//
// Derived (CRTP) gives, for the fast path, with the finding in the leaf, which the version has validated
//   went fast_found<W>(const FoundAtLeaf&, Worker&, step& next)      byte keys: the only entry with the key's head
//   went fast_missing<W>(const FoundAtLeaf&, Worker&, step& next)
#pragma once

#include "index/traverse.hpp"

namespace mxkv::index {

/// The fast path's finding at a leaf.
struct FoundAtLeaf {
  NodeMeta meta;
  Position at;         ///< of the entry, or where it would be inserted
  std::uint64_t head;  ///< of the key
  std::uint64_t value = 0;
};

namespace detail {
/// A byte-key task's memory while it visits a record: the leaf it came from and the leaf's value word.
/// Before that, between two hops of the fast path at a leaf, `value` is the key's limit there.
template <bool Exact>
struct RecordVisit {
  runtime::TaggedPointer leaf;
  std::uint64_t value = 0;
};
template <>
struct RecordVisit<true> {};

/// How many records of a leaf are prefetched before the first is read.
inline constexpr unsigned kRecordsAhead = 12;

/// Prefetches the first lines, at most `most`, of the record that an entry refers to, where there is one.
template <class Traits>
void prefetch_record([[maybe_unused]] std::uint64_t value, [[maybe_unused]] unsigned most = ~0U) noexcept {
  if constexpr (!Traits::kExact) {
    using Record = typename Traits::Record;
    runtime::prefetch_lines(Record::address(value), std::min(most, Record::lines(value)));
  }
}
}  // namespace detail

template <class Derived, class Traits, class Scratch>
class LeafEntryTask : public TraverseTask<Derived, Traits, Scratch> {
  using Base = TraverseTask<Derived, Traits, Scratch>;
  using went = runtime::went;

 public:
  static constexpr bool kEndsAtEntry = true;
  static constexpr bool kOwnLoops = true;
  using typename Base::NodeT;
  using typename Base::SearchT;

  /// Looks for the key in a leaf; if it is not there, whether the search went astray. Inside the optimistic read.
  [[gnu::always_inline]] TraverseScratch::kind inspect_target(const NodeT& node,
                                                              const runtime::OptimisticRead& read,
                                                              Scratch& scratch) const noexcept {
    const auto key = this->self().key();
    scratch.found =
        SearchT::find(node, scratch.meta, true, key, scratch.head, scratch.block, read, this->careful());
    switch (scratch.found.what) {
      case hit::found:
      case hit::candidate:
        return TraverseScratch::kind::target;
      case hit::torn:
        return TraverseScratch::kind::torn;
      case hit::missing:
        break;
    }
    return detail::away(SearchT::inside(node, scratch.meta, key, scratch.head, false, read), node, scratch);
  }

  // --- For TraverseTask ---

  /// At the header of the leaf: to the block of the key.
  template <class W>
  [[nodiscard, gnu::always_inline]] went at_leaf_header(runtime::Worker& worker, runtime::step& next) {
    const runtime::TaggedPointer at = this->object();
    const NodeT& leaf = *static_cast<const NodeT*>(at.object());
    const runtime::OptimisticRead read{leaf};
    Rank limit = 0;
    unsigned first = 0;
    if (read.locked() || !PlainT<W>::limit_of(leaf, this->self().key(), limit) ||
        !PlainT<W>::template block<true>(leaf, limit, first)) [[unlikely]] {
      if (!find_block_anew<W>(worker).clear) {
        this->look_again();
        return went::astray;
      }
      if constexpr (W::kAsks) {
        return at_unknown_leaf_block<W>(worker, next);
      }
      next = runtime::step::again;
      return went::told;
    }
    MXKV_PATH(fast_header);
    this->see_version(read.version());
    if constexpr (!Traits::kExact) {
      visit_.value = static_cast<std::uint64_t>(limit);
    }
    return this->template await<W>(at, stage::block, Base::kLeaf, first, 2);
  }

  /// At the block that the header named.
  template <class W>
  [[nodiscard, gnu::always_inline]] went at_leaf_block(runtime::Worker& worker, runtime::step& next) {
    Rank limit = 0;
    if constexpr (Traits::kExact) {
      static_cast<void>(PlainT<W>::limit_of(this->here(), this->self().key(), limit));
    } else {
      limit = static_cast<Rank>(visit_.value);
    }
    return at_leaf_block<W>(limit, worker, next);
  }
  /// The same, seldom: after guarded execution has been at the header, or at a leaf found anew.
  template <class W>
  [[nodiscard]] went at_unknown_leaf_block(runtime::Worker& worker, runtime::step& next) {
    Rank limit = 0;
    return PlainT<W>::limit_of(this->here(), this->self().key(), limit)
               ? at_leaf_block<W>(limit, worker, next)
               : went::astray;
  }

 protected:
  using Base::Base;
  template <class W>
  using PlainT = typename Base::template PlainT<W>;

  /// Line counts of a block's annotation once the lines beside it, or the right neighbour's, were prefetched, or are
  /// near since others write there.
  static constexpr std::uint8_t kAskedBeside = 3;
  static constexpr std::uint8_t kAskedRight = 4;

  /// To the record of the only entry with the key's head.
  template <class W>
  [[nodiscard, gnu::always_inline]] went await_record(std::uint64_t value, unsigned lines,
                                                      runtime::step& next) noexcept {
    if constexpr (!W::kAsks) {
      next = visit_record(value, lines);
      return went::told;
    } else {
      MXKV_DCHECK(value != 0, "an entry of a leaf has a record");
      visit_.leaf = this->object();
      visit_.value = value;
      const auto* line = static_cast<const std::byte*>(Traits::Record::address(value));
      this->move_to(runtime::TaggedPointer::unsynchronized(line), 0, 0,
                    static_cast<std::uint8_t>(stage::item));
      do {
        runtime::prefetch_read(line);
        line += runtime::kCacheLineBytes;
      } while (static_cast<int>(--lines) > 0);
      return went::on;
    }
  }
  runtime::step visit_record(std::uint64_t value, unsigned lines) noexcept {
    MXKV_DCHECK(value != 0, "an entry of a leaf has a record");
    visit_.leaf = this->object();
    visit_.value = value;
    this->annotate_lines(runtime::TaggedPointer::unsynchronized(Traits::Record::address(value)), 0, lines);
    this->set_stage(stage::item);
    return this->when_loaded();
  }

  /// At a leaf where an entry of another key has the key's head. True: the key lacks the leaf's prefix, so it is
  /// beyond the leaf, and the task has found its block further right.
  [[nodiscard]] bool found_further_right(runtime::Worker& worker) {
    using W = typename Base::template Way<line_compare::AsFound, false>;
    const NodeT& leaf = this->here();
    const NodeMeta meta = leaf.meta();
    return this->object().synchronization() == runtime::primitive::optimistic_latch &&
           meta.prefix_bytes() <= NodeT::kPrefixInlineBytes &&
           !PlainT<W>::belongs(leaf, meta, this->self().key()) && find_block_anew<W>(worker).clear;
  }

  [[no_unique_address]] detail::RecordVisit<Traits::kExact> visit_;

 private:
  /// The key's limit at the leaf that the task has found anew; not clear: it did not, and guarded execution looks at
  /// the whole leaf at once, lest keys that came later overtake this one.
  struct Anew {
    bool clear;
    Rank limit;
  };
  /// Finds the leaf and the block of the key by header lines that are near: another task wrote to the leaf since the
  /// task saw it, or split it. Follows right links, over as many new leaves as tasks under way may have filled.
  template <class W>
  [[nodiscard, gnu::noinline]] Anew find_block_anew(runtime::Worker& worker) {
    constexpr unsigned kMostLinks = 4;
    for (unsigned links = 0; links <= kMostLinks; ++links) {
      const runtime::TaggedPointer at = this->object();
      const NodeT& leaf = *static_cast<const NodeT*>(at.object());
      const runtime::OptimisticRead read{leaf};
      const NodeMeta meta = leaf.meta();
      Rank limit = 0;
      unsigned first = 0;
      if (read.locked() || !PlainT<W>::limit_of(leaf, this->self().key(), limit)) {
        break;
      }
      // A key that lacks the prefix of both fences is beyond the leaf, whatever its head.
      const bool belongs = meta.prefix_bytes() > NodeT::kPrefixInlineBytes ||
                           PlainT<W>::belongs(leaf, meta, this->self().key());
      if (belongs && PlainT<W>::template block<true>(leaf, limit, first)) {
        MXKV_PATH(fast_anew);
        runtime::count(worker.counters().conflicts);
        this->see_version(read.version());
        this->move_to(at, first, kAskedRight, static_cast<std::uint8_t>(stage::block) | Base::kLeaf);
        if constexpr (!Traits::kExact) {
          visit_.value = static_cast<std::uint64_t>(limit);
        }
        return {true, limit};
      }
      const std::uint64_t head = PlainT<W>::head_of(limit);
      const runtime::TaggedPointer right{leaf.right()};
      const bool beyond = !meta.high_infinite() && (Traits::kExact || !belongs || head > leaf.high_head());
      if (!read.valid() || !beyond || right.synchronization() != runtime::primitive::optimistic_latch) {
        break;
      }
      MXKV_PATH(fast_right);
      retry_lost_separator(this->tree(), *static_cast<NodeT*>(right.object()), 1, *this, worker);
      this->enter(right);
    }
    return {false, 0};
  }

  template <class W>
  [[nodiscard, gnu::always_inline]] went at_leaf_block(Rank limit, runtime::Worker& worker,
                                                       runtime::step& next) {
    using Plain = PlainT<W>;
    for (bool anew = false;; anew = true) {
      const NodeT& leaf = this->here();
      const runtime::OptimisticRead read{leaf, this->seen_version()};
      const unsigned first = this->annotations().first_line;
      const runtime::RelaxedWord* const line = leaf.line_at(first);
      const NodeMeta meta = leaf.meta();
      const unsigned count = Plain::count(line, limit);
      if (!Traits::kExact && meta.ties()) [[unlikely]] {
        return this->template astray_at_block<W>(limit);
      }
      const auto block =
          static_cast<std::uint8_t>((first - NodeT::kHeaderLines) / Traits::Shape::lines_per_block(true));
      if (Plain::ties(line, count, limit)) [[likely]] {
        const auto slot = static_cast<std::uint8_t>(count - 1);
        const std::uint64_t value = line[NodeMeta::kMaxSlots + slot].load();
        if (read.valid()) [[likely]] {
          MXKV_PATH(fast_target);
          return this->self().template fast_found<W>({meta, {block, slot}, Plain::head_of(limit), value},
                                                     worker, next);
        }
      } else {
        const bool belongs = Plain::belongs(leaf, meta, this->self().key());
        if (belongs && read.valid()) [[likely]] {
          if (limit == Plain::kLeast) [[unlikely]] {
            return this->template astray_at_block<W>(limit);
          }
          return this->self().template fast_missing<W>(
              {meta, {block, static_cast<std::uint8_t>(count)}, Plain::head_of(limit)}, worker, next);
        }
      }
      // Another task wrote to the leaf, or the key is beyond it.
      const Anew there = anew ? Anew{false, 0} : find_block_anew<W>(worker);
      if (!there.clear) {
        this->look_again();
        return went::astray;
      }
      limit = there.limit;
    }
  }
};

}  // namespace mxkv::index
