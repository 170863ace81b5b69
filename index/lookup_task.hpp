// Look-up of one key. For byte keys the record is one more object to prefetch: a hop of its own.
//
// Derived gives: Key key() const; step on_found(value word, worker); step on_missing(worker). The callbacks
// run inside the request's pin and own the task's end: they return done, or re-annotate and return again.
#pragma once

#include "index/separator_task.hpp"
#include "index/traverse.hpp"

namespace mxkv::index {

struct LookupScratch : TraverseScratch {
  Found found;
};

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
    const auto* line = static_cast<const std::byte*>(Record::address(value));
    for (unsigned n = std::min(most, Record::lines(value)); n > 0; --n, line += runtime::kCacheLineBytes) {
      runtime::prefetch_read(line);
    }
  }
}

/// Looks for a key in a leaf; if it is not there, whether the search went astray. Inside the optimistic read.
template <class SearchT, class NodeT, class Key, class Scratch>
[[gnu::always_inline]] inline void find_in_leaf(const NodeT& node, NodeMeta meta, Key key, std::uint64_t head,
                                                unsigned block, bool careful,
                                                const runtime::OptimisticRead& read,
                                                Scratch& scratch) noexcept {
  scratch.found = SearchT::find(node, meta, key, head, block, read, careful);
  if (scratch.found.torn) {
    scratch.what = TraverseScratch::kind::torn;
  } else if (!SearchT::kExact && !scratch.found.found && !scratch.found.candidate) {
    settle_route(SearchT::inside(node, meta, key, head, false, read), node, scratch);
  }
}
}  // namespace detail

template <class Derived, class Traits>
class LookupTask : public TraverseTask<Derived, Traits, LookupScratch> {
  using Base = TraverseTask<Derived, Traits, LookupScratch>;

 public:
  using typename Base::NodeT;
  using typename Base::Scratch;
  using typename Base::SearchT;

  void inspect_target(const NodeT& node, NodeMeta meta, std::uint64_t head, unsigned block,
                      const runtime::OptimisticRead& read, Scratch& scratch) const noexcept {
    detail::find_in_leaf<SearchT>(node, meta, this->self().key(), head, block, this->careful(), read,
                                  scratch);
  }

  [[nodiscard, gnu::always_inline]] bool fast_target(const NodeT& node, NodeMeta meta, Rank rank,
                                                     unsigned block, const runtime::OptimisticRead& read,
                                                     runtime::Worker& worker, runtime::step& next) {
    const unsigned slot = node.count_below(true, block, rank);
    const bool hit = node.holds_rank(true, block, slot, rank);
    // A byte key that is not there, or shares its head with others, takes a second look.
    if (!Traits::kExact && (!hit || meta.ties())) [[unlikely]] {
      return false;
    }
    const std::uint64_t value = hit ? node.value(true, SearchT::position(block, slot)) : 0;
    if (!read.valid()) [[unlikely]] {
      return false;
    }
    if constexpr (Traits::kExact) {
      next = hit ? this->self().on_found(value, worker) : this->self().on_missing(worker);
    } else {
      next = visit_record(value);
    }
    MXKV_PATH(fast_target);
    return true;
  }

  runtime::step resume_target(Scratch& scratch, runtime::Worker& worker) {
    const Found& found = scratch.found;
    if (found.found) {
      return this->self().on_found(found.value, worker);
    }
    if constexpr (!Traits::kExact) {
      if (found.candidate) {
        return visit_record(found.value);
      }
    }
    return this->self().on_missing(worker);
  }

  runtime::step resume_item(runtime::Worker& worker) {
    if constexpr (!Traits::kExact) {
      if (Traits::Record::key(visit_.value) == this->self().key()) {
        return this->self().on_found(visit_.value, worker);
      }
      // The head was another key's. Back to the leaf, with whole keys.
      this->set_careful(true);
      this->enter(visit_.leaf);
      return runtime::step::again;
    }
    return this->self().on_missing(worker);
  }

 protected:
  using Base::Base;

 private:
  runtime::step visit_record(std::uint64_t value) noexcept {
    if constexpr (!Traits::kExact) {
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
