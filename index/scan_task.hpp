// Range scan, leaf to leaf, forward or backward.
//
// A leaf is read as one: its entries are copied out under one validated version, then visited. Forward, the
// task goes on by the right link; the next leaf and the records ahead, the next leaf's too, are already on
// their way. Backward, it descends again for the greatest keys below the leaf's low fence. Every
// kLeavesPerPin leaves it gives up its pin and descends again by key, so that a long scan does not hold back
// reclamation.
//
// Only blocks that may hold wanted entries are copied, if Derived says how many entries it wants. If it wants
// more in the end, the task descends again for the entries behind the last copied one.
//
// Each leaf is one moment; the whole scan is not. Keys come in strict order, each at most once.
//
// Derived (CRTP) gives
//   Key key() const                   where to go: first key wanted; backward: the key to stay below
//   void set_key(Key)                 keeps a copy as the new key()
//   bool visit(std::uint64_t head, std::uint64_t value, Worker&)     false: enough
//     or an object with bool visit(head, value) from leaf_visitor(Worker&), which lives for one leaf. The head
//     counts where it is the key.
//   unsigned take_run(const LeafEntries&, unsigned from, unsigned to, unsigned ask_to)     may be given by
//     that object: takes entries from `from` on, up from the least, and returns the first that it leaves to
//     visit(), at most `to`. Entries before `ask_to` may only be prefetched.
//   bool takes_whole(const LeafEntries&, unsigned first, unsigned last, Worker&)     may be given:
//     true if it took these entries of a leaf at once, without visit()
//   std::uint64_t wanted() const       may be given: how many more entries it takes, as a rule
//   step finished(bool exhausted, Worker&)                           all seen, or visit() had enough; may
//     set_key() and return rescan() to go on from there
//   bool backward() const
#pragma once

#include "index/leaf_entries.hpp"
#include "index/lookup_task.hpp"

namespace mxkv::index {

struct ScanScratch : TraverseScratch {
  LeafEntries entries;
  bool cut;  ///< the leaf has entries behind the copied ones
  std::uint64_t right;
  std::uint64_t low;
  std::uint64_t high;
};

template <class Derived, class Traits>
class ScanTask : public TraverseTask<Derived, Traits, ScanScratch> {
  using Base = TraverseTask<Derived, Traits, ScanScratch>;

 public:
  static constexpr bool kWholeTarget = true;
  static constexpr bool kMayBeStrict = true;
  static constexpr unsigned kLeavesPerPin = 16;
  /// Lines of a record that Derived reads, at most. May be shadowed.
  static constexpr unsigned kRecordLines = ~0U;
  using typename Base::NodeT;
  using typename Base::Scratch;
  using typename Base::SearchT;

  void start(runtime::Worker& worker) {
    this->set_strict(this->self().backward());
    this->set_own_mark(false);  // a scan may start again
    behind_key_ = false;
    Base::start(worker);
  }

  TraverseScratch::kind inspect_target(const NodeT& node, const runtime::OptimisticRead& read,
                                       Scratch& scratch) const noexcept {
    const NodeMeta meta = scratch.meta;
    const unsigned blocks = std::min(meta.blocks(), Traits::Shape::blocks(true));
    if (this->strict()) {
      scratch.entries.count = 0;
      scratch.entries.add(node, meta, 0, node.block_for(meta, scratch.head, false) + 1);
      scratch.cut = false;
    } else {
      copy_upward(node, blocks, scratch);
    }
    scratch.right = node.right();
    scratch.low = node.low();
    scratch.high = node.high();
    if (!follows_link() && !Traits::kExact) {
      return detail::away(SearchT::inside(node, meta, this->self().key(), scratch.head, this->strict(), read),
                          node, scratch);
    }
    return TraverseScratch::kind::target;
  }

  runtime::step resume_target(Scratch& scratch, runtime::Worker& worker) {
    return this->strict() ? backward_leaf(scratch, worker) : forward_leaf(scratch, worker);
  }

  runtime::step resume_item(runtime::Worker& /*worker*/) { return runtime::step::done; }

 protected:
  using Base::Base;

 private:
  static void prefetch_record(std::uint64_t value) noexcept {
    detail::prefetch_record<Traits>(value, Derived::kRecordLines);
  }
  [[nodiscard]] bool follows_link() const noexcept { return this->own_mark(); }

  /// How many entries Derived wants, as far as it tells.
  [[nodiscard]] std::uint64_t most_wanted() const noexcept {
    if constexpr (requires { this->self().wanted(); }) {
      return std::max<std::uint64_t>(this->self().wanted(), 1);
    } else {
      return ~std::uint64_t{0} / 2;
    }
  }

  /// Copies the blocks that a scan upward needs.
  void copy_upward(const NodeT& node, unsigned blocks, Scratch& scratch) const noexcept {
    const NodeMeta meta = scratch.meta;
    unsigned block = 0;
    std::uint64_t most = most_wanted();
    if (follows_link()) {
      most = node.low() == from_ ? most : LeafEntries::kMax;  // some of them were visited
    } else {
      block = node.block_for(meta, scratch.head, true);
      most += Traits::Shape::kSlots + 1;  // which come before the key, or have its head
    }
    if (meta.ties()) {
      most = LeafEntries::kMax;
    }
    scratch.entries.count = 0;
    while (block < blocks && scratch.entries.count < most) {
      scratch.entries.add(node, meta, block, block + 1);
      ++block;
    }
    scratch.cut = block < blocks;
  }

  /// Order of an entry's key and key(). The record is safe to read: the leaf was validated, the task pins.
  [[nodiscard]] std::strong_ordering order(const LeafEntries& entries, unsigned i) const noexcept {
    if constexpr (Traits::kExact) {
      return entries.heads[i] <=> this->self().key();
    } else {
      return Traits::Record::key(entries.values[i]).compare(this->self().key()) <=> 0;
    }
  }

  /// The object that visits the entries of one leaf.
  auto visitor(runtime::Worker& worker) noexcept {
    if constexpr (requires { this->self().leaf_visitor(worker); }) {
      return this->self().leaf_visitor(worker);
    } else {
      struct ByEntry {
        Derived& self;
        runtime::Worker& worker;
        bool visit(std::uint64_t head, std::uint64_t value) { return self.visit(head, value, worker); }
      };
      return ByEntry{this->self(), worker};
    }
  }

  /// Whether Derived took the entries [first, last) as a whole.
  bool took_whole(const LeafEntries& entries, unsigned first, unsigned last, runtime::Worker& worker) {
    if constexpr (requires { this->self().takes_whole(entries, first, last, worker); }) {
      return first < last && this->self().takes_whole(entries, first, last, worker);
    } else {
      return false;
    }
  }

  /// Visits the entries [from, to) upward, and prefetches the records of entries kRecordsAhead behind them,
  /// before `ask_to`. False: Derived has enough.
  template <class Visitor>
  [[gnu::always_inline]] static bool visit_part(Visitor& leaf, const LeafEntries& entries, unsigned from,
                                                unsigned to, unsigned ask_to) {
    while (from < to) {
      if constexpr (requires { leaf.take_run(entries, from, to, ask_to); }) {
        from = leaf.take_run(entries, from, to, ask_to);
        if (from == to) {
          break;
        }
      }
      if (from + detail::kRecordsAhead < ask_to) {
        prefetch_record(entries.values[from + detail::kRecordsAhead]);
      }
      if (!leaf.visit(entries.heads[from], entries.values[from])) {
        return false;
      }
      ++from;
    }
    return true;
  }

  /// Visits the entries from `first` on; false: Derived has enough.
  bool visit_up(Scratch& scratch, unsigned first, std::uint64_t wanted, runtime::Worker& worker) {
    LeafEntries& entries = scratch.entries;
    const unsigned end = entries.count;
    unsigned ask_to = wanted < end - first ? first + static_cast<unsigned>(wanted) : end;
    const unsigned asked = std::exchange(records_asked_, std::uint8_t{0});
    for (unsigned n = first + asked; n < std::min(first + detail::kRecordsAhead, ask_to); ++n) {
      prefetch_record(entries.values[n]);
    }
    auto leaf = visitor(worker);
    unsigned from = first;
    if (!Traits::kExact && !scratch.cut && !scratch.meta.high_infinite() && wanted > end - first) {
      from = std::max(end, first + detail::kRecordsAhead) - detail::kRecordsAhead;
      if (!visit_part(leaf, entries, first, from, ask_to)) {
        return false;
      }
      // By now the lines of the next leaf are near.
      const auto& next = *static_cast<const NodeT*>(runtime::TaggedPointer{scratch.right}.object());
      const auto most =
          static_cast<unsigned>(std::min<std::uint64_t>(detail::kRecordsAhead, wanted - (end - first)));
      records_asked_ = static_cast<std::uint8_t>(entries.hint(next, most));
      ask_to += records_asked_;
    }
    return visit_part(leaf, entries, from, end, ask_to);
  }

  bool visit_down(const LeafEntries& entries, unsigned last, runtime::Worker& worker) {
    for (unsigned n = 0; n < std::min(detail::kRecordsAhead, last); ++n) {
      prefetch_record(entries.values[last - 1 - n]);
    }
    auto leaf = visitor(worker);
    for (unsigned n = last; n-- > 0;) {
      if (n >= detail::kRecordsAhead) {
        prefetch_record(entries.values[n - detail::kRecordsAhead]);
      }
      if (!leaf.visit(entries.heads[n], entries.values[n])) {
        return false;
      }
    }
    return true;
  }

  /// Prefetches the lines of the next leaf that hold `wanted` entries, if its blocks are half full.
  static void prefetch_next(std::uint64_t right, std::uint64_t wanted) noexcept {
    constexpr unsigned kBlocks = Traits::Shape::blocks(true);
    const auto blocks = static_cast<unsigned>(std::min<std::uint64_t>(kBlocks, wanted / 4 + 1));
    runtime::prefetch_lines(runtime::TaggedPointer{right}.first_line(), NodeT::first_line_of(blocks, true));
  }

  /// The first entry at or above the high fence of the leaf before. Upper entries of that leaf may have come
  /// here after they were visited there (overflow_plan.hpp).
  [[nodiscard]] unsigned first_behind_link(const Scratch& scratch) const noexcept {
    const LeafEntries& entries = scratch.entries;
    unsigned first = 0;
    if (scratch.low != from_) [[unlikely]] {
      MXKV_PATH(scan_skips_visited);
      while (first < entries.count && precedes_link(entries, first)) {
        ++first;
      }
    }
    return first;
  }
  /// Where the scan goes on: at the leaf's high fence, or at from_ if the leaves before reached further.
  [[nodiscard]] std::uint64_t end_of(const Scratch& scratch) const noexcept {
    const bool before =
        follows_link() && scratch.low != from_ && Traits::order(Traits::fence_key(scratch.high), from_) < 0;
    return before ? from_ : scratch.high;
  }
  [[nodiscard]] bool precedes_link(const LeafEntries& entries, unsigned i) const noexcept {
    if constexpr (Traits::kExact) {
      return entries.heads[i] < from_;
    } else {
      return Traits::Record::key(entries.values[i]) < Traits::fence_key(from_);
    }
  }

  /// The first entry that is not before key(), and not at it if key() was visited.
  [[nodiscard]] unsigned first_wanted(const Scratch& scratch) noexcept {
    const LeafEntries& entries = scratch.entries;
    const bool behind = std::exchange(behind_key_, false);
    unsigned first = 0;
    while (first < entries.count && entries.heads[first] < scratch.head) {
      ++first;
    }
    while (first < entries.count && entries.heads[first] == scratch.head) {
      const auto found = order(entries, first);
      if (found > 0 || (found == 0 && !behind)) {
        break;
      }
      ++first;
    }
    return first;
  }

  runtime::step forward_leaf(Scratch& scratch, runtime::Worker& worker) {
    const LeafEntries& entries = scratch.entries;
    MXKV_DCHECK(scratch.meta.level() == 0, "a scan visits leaves");
    const unsigned first = follows_link() ? first_behind_link(scratch) : first_wanted(scratch);
    const bool last_leaf = scratch.meta.high_infinite();
    const std::uint64_t most = most_wanted();
    const unsigned found = entries.count - first;
    if (!last_leaf && !scratch.cut && most > found) {
      prefetch_next(scratch.right, most - found);
    }
    if (!took_whole(entries, first, entries.count, worker) && !visit_up(scratch, first, most, worker)) {
      return this->self().finished(false, worker);
    }
    ++leaves_;
    if (scratch.cut) [[unlikely]] {
      return descend_behind(scratch, worker);
    }
    if (last_leaf) {
      return this->self().finished(true, worker);
    }
    if (leaves_ % kLeavesPerPin == 0) {
      return descend_again(end_of(scratch), worker);
    }
    MXKV_ASSERT(scratch.right != 0, "a leaf that is not the last one has a right neighbour");
    from_ = end_of(scratch);
    this->set_own_mark(true);
    this->enter(runtime::TaggedPointer{scratch.right});
    return runtime::step::again;
  }

  runtime::step backward_leaf(Scratch& scratch, runtime::Worker& worker) {
    const LeafEntries& entries = scratch.entries;
    unsigned last = entries.count;
    while (last > 0 && entries.heads[last - 1] > scratch.head) {
      --last;
    }
    while (last > 0 && entries.heads[last - 1] == scratch.head && order(entries, last - 1) >= 0) {
      --last;
    }
    if (!took_whole(entries, 0, last, worker) && !visit_down(entries, last, worker)) {
      return this->self().finished(false, worker);
    }
    if (scratch.low == 0) {
      return this->self().finished(true, worker);
    }
    ++leaves_;
    return descend_again(scratch.low, worker);
  }

  /// Goes on behind the last entry that was copied: Derived wants more than it told.
  runtime::step descend_behind(const Scratch& scratch, runtime::Worker& worker) {
    MXKV_PATH(scan_cut);
    const LeafEntries& entries = scratch.entries;
    MXKV_ASSERT(entries.count > 0, "a leaf that is copied in part has entries");
    if constexpr (Traits::kExact) {
      this->self().set_key(entries.heads[entries.count - 1]);
    } else {
      this->self().set_key(Traits::Record::key(entries.values[entries.count - 1]));
    }
    behind_key_ = true;
    return descend(worker);
  }

  /// Goes on from a fence by key.
  runtime::step descend_again(std::uint64_t fence, runtime::Worker& worker) {
    this->self().set_key(Traits::fence_key(fence));
    return descend(worker);
  }

  /// Now and then with a new pin.
  runtime::step descend(runtime::Worker& worker) {
    this->set_own_mark(false);
    records_asked_ = 0;
    if (leaves_ % kLeavesPerPin == 0) {
      worker.repin(*this);
    }
    return this->restart(false);
  }

  std::uint64_t from_ = 0;  ///< after a right link: the high fence of the leaf before
  std::uint16_t leaves_ = 0;
  std::uint8_t records_asked_ = 0;  ///< of the next leaf
  bool behind_key_ = false;         ///< key() itself was visited

 protected:
  /// Goes on from key().
  runtime::step rescan(runtime::Worker& worker) {
    ++leaves_;
    return descend(worker);
  }
};

}  // namespace mxkv::index
