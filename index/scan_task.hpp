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
//   step finished(bool exhausted, Worker&)                           all seen, or visit() had enough
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
    Base::start(worker);
  }

  void inspect_target(const NodeT& node, NodeMeta meta, std::uint64_t head, unsigned /*block*/,
                      const runtime::OptimisticRead& read, Scratch& scratch) const noexcept {
    node.copy_entries(meta, false, scratch.entries);
    scratch.right = node.right();
    scratch.low = node.low();
    scratch.high = node.high();
    if (!follows_link() && !Traits::kExact) {
      detail::settle_route(SearchT::inside(node, meta, this->self().key(), head, this->strict(), read), node,
                           scratch);
    }
  }

  runtime::step resume_target(Scratch& scratch, runtime::Worker& worker) {
    return this->strict() ? backward_leaf(scratch, worker) : forward_leaf(scratch, worker);
  }

  runtime::step resume_item(runtime::Worker& /*worker*/) { return runtime::step::done; }

 protected:
  using Base::Base;

 private:
  static constexpr unsigned kRecordsAhead = 12;

  [[nodiscard]] bool follows_link() const noexcept { return this->own_mark(); }

  static void prefetch_record(const Entries& entries, unsigned i) noexcept {
    if constexpr (!Traits::kExact) {
      using Record = typename Traits::Record;
      const auto* line = static_cast<const std::byte*>(Record::address(entries.values[i]));
      for (unsigned n = Record::lines(entries.values[i]); n > 0; --n, line += runtime::kCacheLineBytes) {
        runtime::prefetch_read(line);
      }
    }
  }

  /// Order of an entry's key and key(). The record is safe to read: the leaf was validated, the task pins.
  [[nodiscard]] std::strong_ordering order(const Entries& entries, unsigned i) const noexcept {
    if constexpr (Traits::kExact) {
      return entries.heads[i] <=> this->self().key();
    } else {
      return Traits::Record::key(entries.values[i]).compare(this->self().key()) <=> 0;
    }
  }

  runtime::step forward_leaf(Scratch& scratch, runtime::Worker& worker) {
    const Entries& entries = scratch.entries;
    unsigned first = 0;
    if (!follows_link()) {
      const std::uint64_t head = Traits::head(this->self().key(), scratch.meta.prefix_bytes());
      while (first < entries.count && entries.heads[first] < head) {
        ++first;
      }
      while (first < entries.count && entries.heads[first] == head && order(entries, first) < 0) {
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
    for (unsigned i = first; i < std::min(first + kRecordsAhead, entries.count); ++i) {
      prefetch_record(entries, i);
    }
    for (unsigned i = first; i < entries.count; ++i) {
      if (i + kRecordsAhead < entries.count) {
        prefetch_record(entries, i + kRecordsAhead);
      }
      if (!this->self().visit(entries.heads[i], entries.values[i], worker)) {
        return this->self().finished(false, worker);
      }
    }
    if (last_leaf) {
      return this->self().finished(true, worker);
    }
    if (++leaves_ % kLeavesPerPin == 0) {
      return descend_again(scratch.high, worker);
    }
    this->set_own_mark(true);
    this->enter(runtime::TaggedPointer{scratch.right});
    this->annotate_lines(this->object(), 0, NodeT::kLines);
    return runtime::step::again;
  }

  runtime::step backward_leaf(Scratch& scratch, runtime::Worker& worker) {
    const Entries& entries = scratch.entries;
    const std::uint64_t head = Traits::head(this->self().key(), scratch.meta.prefix_bytes());
    unsigned last = entries.count;
    while (last > 0 && entries.heads[last - 1] > head) {
      --last;
    }
    while (last > 0 && entries.heads[last - 1] == head && order(entries, last - 1) >= 0) {
      --last;
    }
    for (unsigned i = last; i > (last > kRecordsAhead ? last - kRecordsAhead : 0); --i) {
      prefetch_record(entries, i - 1);
    }
    for (unsigned i = last; i > 0; --i) {
      if (i > kRecordsAhead + 1) {
        prefetch_record(entries, i - 1 - kRecordsAhead);
      }
      if (!this->self().visit(entries.heads[i - 1], entries.values[i - 1], worker)) {
        return this->self().finished(false, worker);
      }
    }
    if (scratch.low == 0) {
      return this->self().finished(true, worker);
    }
    ++leaves_;
    return descend_again(scratch.low, worker);
  }

  /// Goes on from a fence by key; now and then with a new pin.
  runtime::step descend_again(std::uint64_t fence, runtime::Worker& worker) {
    this->self().set_key(Traits::fence_key(fence));
    this->set_own_mark(false);
    if (leaves_ % kLeavesPerPin == 0) {
      worker.repin(*this);
    }
    return this->restart(false);
  }

  std::uint32_t leaves_ = 0;
};

}  // namespace mxkv::index
