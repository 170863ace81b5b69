// Look-up of one key. For byte keys the record is one more object to prefetch: a hop of its own.
//
// Derived gives: Key key() const; step on_found(value word, worker); step on_missing(worker). The callbacks
// run inside the request's pin and own the task's end: they return done, or re-annotate and return again. In
// them leaf() is the leaf that was read; it may have changed since.
#pragma once

#include "index/separator_task.hpp"
#include "index/traverse.hpp"

namespace mxkv::index {

namespace detail {
/// What a byte-key task remembers while it visits a record: the leaf it came from and the leaf's value word.
template <bool Exact>
struct RecordVisit {
  runtime::TaggedPointer leaf;
  std::uint64_t value = 0;
};
template <>
struct RecordVisit<true> {};

/// Records of a leaf that are asked for before the first is read.
inline constexpr unsigned kRecordsAhead = 12;

/// Asks for the first lines, `most` of them at most, of the record that an entry refers to, where there is
/// one.
template <class Traits>
void prefetch_record([[maybe_unused]] std::uint64_t value, [[maybe_unused]] unsigned most = ~0U) noexcept {
  if constexpr (!Traits::kExact) {
    using Record = typename Traits::Record;
    runtime::prefetch_lines(Record::address(value), std::min(most, Record::lines(value)));
  }
}

/// Looks for a key in a leaf; if it is not there, whether the search went astray. Inside the optimistic read.
template <cases kCases, class Compare, class SearchT, class NodeT, class Key, class Scratch>
[[gnu::always_inline]] inline TraverseScratch::kind find_in_leaf(const NodeT& node, Key key, bool careful,
                                                                 const runtime::OptimisticRead& read,
                                                                 Scratch& scratch) noexcept {
  scratch.found = SearchT::template find<kCases, Compare>(node, scratch.meta, true, key, scratch.head,
                                                          scratch.block, read, careful);
  switch (scratch.found.what) {
    case hit::found:
    case hit::candidate:
      return TraverseScratch::kind::target;
    case hit::torn:
      return TraverseScratch::kind::torn;
    case hit::unclear:
      return TraverseScratch::kind::unclear;
    case hit::missing:
      break;
  }
  return away(SearchT::template inside<kCases>(node, scratch.meta, key, scratch.head, false, read), node,
              scratch);
}
}  // namespace detail

/// A task whose target is the leaf of a key, and there the key's entry.
template <class Derived, class Traits, class Scratch>
class LeafEntryTask : public TraverseTask<Derived, Traits, Scratch> {
  using Base = TraverseTask<Derived, Traits, Scratch>;

 public:
  using typename Base::NodeT;
  using typename Base::SearchT;

  template <cases kCases = cases::all, class Compare = line_compare::AsFound, class S>
  [[gnu::always_inline]] TraverseScratch::kind inspect_target(const NodeT& node,
                                                              const runtime::OptimisticRead& read,
                                                              S& scratch) const noexcept {
    return detail::find_in_leaf<kCases, Compare, SearchT>(
        node, this->self().key(), kCases == cases::all && this->careful(), read, scratch);
  }

 protected:
  using Base::Base;
};

/// What a task that looks up one key offers; see above.
template <class T, class Traits>
concept LooksUpEntry = requires(T task, std::uint64_t word, runtime::Worker& worker) {
  { task.key() } -> std::convertible_to<typename Traits::Key>;
  { task.on_found(word, worker) } -> std::same_as<runtime::step>;
  { task.on_missing(worker) } -> std::same_as<runtime::step>;
};

template <class Derived, class Traits>
class LookupTask : public LeafEntryTask<Derived, Traits, LookupScratch> {
  using Base = LeafEntryTask<Derived, Traits, LookupScratch>;

 public:
  using typename Base::NodeT;
  using typename Base::Scratch;
  using typename Base::SearchT;

  [[gnu::always_inline]] runtime::step resume_target(const LookupScratch& scratch, runtime::Worker& worker) {
    static_assert(LooksUpEntry<Derived, Traits>);
    switch (scratch.found.what) {
      case hit::found:
        return this->self().on_found(scratch.found.value, worker);
      case hit::candidate:
        return visit_record(scratch.found.value);
      default:
        return this->self().on_missing(worker);
    }
  }

  [[nodiscard, gnu::always_inline]] bool fast_target(const LookupScratch& scratch, runtime::Worker& worker,
                                                     runtime::step& next) {
    next = resume_target(scratch, worker);
    return true;
  }

  runtime::step resume_item(runtime::Worker& worker) {
    if constexpr (!Traits::kExact) {
      if (same_key(Traits::Record::key(visit_.value), this->self().key())) {
        return this->self().on_found(visit_.value, worker);
      }
      // The head was another key's. Back to the leaf, with whole keys.
      this->set_careful(true);
      this->enter(visit_.leaf);
      return runtime::step::again;
    }
    return this->self().on_missing(worker);
  }

  /// The leaf that was read, in a callback.
  [[nodiscard]] const NodeT& leaf() const noexcept {
    if constexpr (!Traits::kExact) {
      if (this->object().synchronization() == runtime::primitive::none) {  // at the record
        return *static_cast<const NodeT*>(visit_.leaf.object());
      }
    }
    return this->here();
  }

 protected:
  using Base::Base;

 private:
  [[gnu::always_inline]] runtime::step visit_record(std::uint64_t value) noexcept {
    if constexpr (!Traits::kExact) {
      MXKV_DCHECK(value != 0, "an entry of a leaf has a record");
      visit_.leaf = this->object();
      visit_.value = value;
      using Record = typename Traits::Record;
      this->annotate_lines(runtime::TaggedPointer::unsynchronized(Record::address(value)), 0,
                           Record::lines(value));
      this->set_stage(stage::item);
    }
    return this->when_loaded();
  }

  [[no_unique_address]] detail::RecordVisit<Traits::kExact> visit_;
};

}  // namespace mxkv::index
