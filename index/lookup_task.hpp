// Look-up of one key. For byte keys the record is one more object to prefetch: a hop of its own.
//
// Derived gives: Key key() const; step on_found(value word, worker); step on_missing(worker). The callbacks
// run inside the request's pin and own the task's end: they return done, or re-annotate and return again. In
// them leaf() is the leaf that was read; it may have changed since.
#pragma once

#include "index/leaf_entry_task.hpp"
#include "index/separator_task.hpp"

namespace mxkv::index {

/// The functions that a task that looks up one key offers; see above.
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
        if constexpr (!Traits::kExact) {
          return this->visit_record(scratch.found.value, Traits::Record::lines(scratch.found.value));
        }
        [[fallthrough]];
      default:
        return this->self().on_missing(worker);
    }
  }

  // For LeafEntryTask, on the fast path.
  template <class W>
  [[nodiscard, gnu::always_inline]] runtime::went fast_found(const FoundAtLeaf& found,
                                                             runtime::Worker& worker, runtime::step& next) {
    if constexpr (Traits::kExact) {
      next = this->self().on_found(found.value, worker);
      return runtime::went::told;
    } else {
      return this->template await_record<W>(found.value, Traits::Record::lines(found.value), next);
    }
  }
  template <class W>
  [[nodiscard, gnu::always_inline]] runtime::went fast_missing(const FoundAtLeaf& /*found*/,
                                                               runtime::Worker& worker, runtime::step& next) {
    next = this->self().on_missing(worker);
    return runtime::went::told;
  }

  runtime::step resume_item(runtime::Worker& worker) {
    if constexpr (!Traits::kExact) {
      if (same_key(Traits::Record::key(this->visit_.value), this->self().key())) {
        return this->self().on_found(this->visit_.value, worker);
      }
      // The head was another key's. Back to the leaf, with whole keys.
      this->set_careful(true);
      this->enter(this->visit_.leaf);
      return runtime::step::again;
    }
    return this->self().on_missing(worker);
  }

  /// The leaf that was read, in a callback.
  [[nodiscard]] const NodeT& leaf() const noexcept {
    if constexpr (!Traits::kExact) {
      if (this->object().synchronization() == runtime::primitive::none) {  // at the record
        return *static_cast<const NodeT*>(this->visit_.leaf.object());
      }
    }
    return this->here();
  }

 protected:
  using Base::Base;
};

}  // namespace mxkv::index
