// Range scan, leaf to leaf, forward or backward.
//
// A leaf is read as one: its entries are copied out under one validated version, then visited. Forward the
// task goes on by the right link, with the next leaf and the records ahead on their way; backward it
// descends again for the greatest keys below the leaf's low fence. Every kLeavesPerPin leaves it gives up its
// pin and descends again by key, so that a long scan does not hold back reclamation.
//
// Each leaf is one moment; the whole scan is not. Keys come in strict order, each at most once.
//
// Derived (CRTP) gives
//   Key key() const                   where to go: first key wanted; backward: the key to stay below
//   void set_key(Key)                 keeps a copy as the new key()
//   bool visit(std::uint64_t head, std::uint64_t value, Worker&)     false: enough
//     or an object with bool visit(head, value) from leaf_visitor(Worker&), which lives for one leaf
//   bool takes_whole(const Entries&, unsigned first, unsigned last, Worker&)     may be given:
//     true if it took these entries of a leaf at once, without visit()
//   step finished(bool exhausted, Worker&)                           all seen, or visit() had enough; may
//     set_key() and return rescan() to go on from there
//   bool backward() const
#pragma once

#include "index/lookup_task.hpp"

namespace mxkv::index {

struct ScanScratch : TraverseScratch {
  Entries entries;
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
  using typename Base::NodeT;
  using typename Base::Scratch;
  using typename Base::SearchT;

  void start(runtime::Worker& worker) {
    this->set_strict(this->self().backward());
    this->set_own_mark(false);  // a scan may start again
    Base::start(worker);
  }

  TraverseScratch::kind inspect_target(const NodeT& node, const runtime::OptimisticRead& read,
                                       Scratch& scratch) const noexcept {
    const NodeMeta meta = scratch.meta;
    copy_leaf(node, meta, scratch.entries);
    scratch.right = node.right();
    scratch.low = node.low();
    scratch.high = node.high();
    if (!follows_link() && !Traits::kExact) {
      return detail::away(SearchT::template inside<cases::all>(node, meta, this->self().key(), scratch.head,
                                                               this->strict(), read),
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
  [[nodiscard]] bool follows_link() const noexcept { return this->own_mark(); }

  /// Copies a leaf's entries: whole lines, so that nothing is counted; what is behind a block's entries is
  /// written over by the next block's.
  static void copy_leaf(const NodeT& node, NodeMeta meta, Entries& out) noexcept {
    constexpr unsigned kSlots = Traits::Shape::kSlots;
    unsigned at = 0;
    for (unsigned block = 0; block < Traits::Shape::blocks(true); ++block) {
#pragma GCC unroll 8
      for (unsigned slot = 0; slot < kSlots; ++slot) {
        const Position from{static_cast<std::uint8_t>(block), static_cast<std::uint8_t>(slot)};
        out.heads[at + slot] = node.head(true, from);
        out.values[at + slot] = node.value(true, from);
      }
      at += block < meta.blocks() ? NodeT::clamp_count(meta, block) : 0;
    }
    out.count = at;
  }

  /// Order of an entry's key and key(). The record is safe to read: the leaf was validated, the task pins.
  [[nodiscard]] std::strong_ordering order(const Entries& entries, unsigned i) const noexcept {
    if constexpr (Traits::kExact) {
      return entries.heads[i] <=> this->self().key();
    } else {
      return Traits::Record::key(entries.values[i]).compare(this->self().key()) <=> 0;
    }
  }

  /// What takes the entries of one leaf.
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

  /// Visits the entries [first, last), backward from the last one; false: Derived has enough.
  bool visit_entries(const Entries& entries, unsigned first, unsigned last, runtime::Worker& worker) {
    const unsigned count = last - first;
    if constexpr (requires { this->self().takes_whole(entries, first, last, worker); }) {
      if (count > 0 && this->self().takes_whole(entries, first, last, worker)) {
        return true;
      }
    }
    const bool up = !this->strict();
    const auto nth = [up, first, last](unsigned n) { return up ? first + n : last - 1 - n; };
    for (unsigned n = 0; n < std::min(detail::kRecordsAhead, count); ++n) {
      detail::prefetch_record<Traits>(entries.values[nth(n)]);
    }
    auto leaf = visitor(worker);
    for (unsigned n = 0; n < count; ++n) {
      if (n + detail::kRecordsAhead < count) {
        detail::prefetch_record<Traits>(entries.values[nth(n + detail::kRecordsAhead)]);
      }
      if (!leaf.visit(entries.heads[nth(n)], entries.values[nth(n)])) {
        return false;
      }
    }
    return true;
  }

  runtime::step forward_leaf(Scratch& scratch, runtime::Worker& worker) {
    const Entries& entries = scratch.entries;
    MXKV_DCHECK(scratch.meta.level() == 0, "a scan visits leaves");
    unsigned first = 0;
    if (!follows_link()) {
      while (first < entries.count && entries.heads[first] < scratch.head) {
        ++first;
      }
      while (first < entries.count && entries.heads[first] == scratch.head && order(entries, first) < 0) {
        ++first;
      }
    }
    const bool last_leaf = scratch.meta.high_infinite();
    if (!last_leaf) {
      const std::byte* line = runtime::TaggedPointer{scratch.right}.first_line();
      for (unsigned n = 0; n < NodeT::kLines; ++n, line += runtime::kCacheLineBytes) {
        runtime::prefetch_read(line);
      }
    }
    if (!visit_entries(entries, first, entries.count, worker)) {
      return this->self().finished(false, worker);
    }
    if (last_leaf) {
      return this->self().finished(true, worker);
    }
    if (++leaves_ % kLeavesPerPin == 0) {
      return descend_again(scratch.high, worker);
    }
    MXKV_ASSERT(scratch.right != 0, "a leaf that is not the last one has a right neighbour");
    this->set_own_mark(true);
    this->enter(runtime::TaggedPointer{scratch.right});
    this->annotate_lines(this->object(), 0, NodeT::kLines);
    return runtime::step::again;
  }

  runtime::step backward_leaf(Scratch& scratch, runtime::Worker& worker) {
    const Entries& entries = scratch.entries;
    unsigned last = entries.count;
    while (last > 0 && entries.heads[last - 1] > scratch.head) {
      --last;
    }
    while (last > 0 && entries.heads[last - 1] == scratch.head && order(entries, last - 1) >= 0) {
      --last;
    }
    if (!visit_entries(entries, 0, last, worker)) {
      return this->self().finished(false, worker);
    }
    if (scratch.low == 0) {
      return this->self().finished(true, worker);
    }
    ++leaves_;
    return descend_again(scratch.low, worker);
  }

  /// Goes on from a fence by key.
  runtime::step descend_again(std::uint64_t fence, runtime::Worker& worker) {
    this->self().set_key(Traits::fence_key(fence));
    return descend(worker);
  }

  /// Now and then with a new pin.
  runtime::step descend(runtime::Worker& worker) {
    this->set_own_mark(false);
    if (leaves_ % kLeavesPerPin == 0) {
      worker.repin(*this);
    }
    return this->restart(false);
  }

  std::uint32_t leaves_ = 0;

 protected:
  /// Goes on from key().
  runtime::step rescan(runtime::Worker& worker) {
    ++leaves_;
    return descend(worker);
  }
};

}  // namespace mxkv::index
