// A write's decision about its key's entry, the scratch data of a write, and the functions that a task that
// writes offers (update_task.hpp).
#pragma once

#include <concepts>
#include <cstdint>

#include "index/commit_point.hpp"
#include "index/node_look.hpp"
#include "index/overflow_plan.hpp"

namespace mxkv::index {

/// The effect of a write on the entry.
struct Decision {
  enum class what : std::uint8_t {
    leave,     ///< nothing: left() follows
    put,       ///< insert or replace with `value`
    remove,    ///< only if found
    in_place,  ///< change_record() changes the record itself; only if found
    wait,      ///< not yet: the task is parked, and Derived has it spawned again
    refuse,    ///< not yet: refused() follows
  };
  what action = what::leave;
  std::uint64_t value = 0;
};

template <class Traits>
struct UpdateScratch : LookupScratch {
  Decision decision;
  InsertPlan<Traits> plan;
  OverflowPlan<Traits> overflow;  ///< where it is ready, instead of a split

  [[nodiscard]] bool inserts() const noexcept {
    return decision.action == Decision::what::put && !found.found();
  }
  [[nodiscard]] bool splits() const noexcept { return inserts() && plan.splits(); }
};

/// The functions that a task that writes one key offers; see update_task.hpp.
template <class T, class Traits>
concept UpdatesEntry = requires(T task, bool found, std::uint64_t word, Node<typename Traits::Shape>& leaf,
                                runtime::Worker& worker) {
  { task.key() } -> std::convertible_to<typename Traits::Key>;
  { task.decide(found, word, worker) } -> std::same_as<Decision>;
  { task.commit(leaf, found, word, word, worker) } -> std::same_as<Change>;
  { task.committed(found, word, worker) } -> std::same_as<runtime::step>;
  { task.left(found, word, worker) } -> std::same_as<runtime::step>;
  { task.out_of_memory(worker) } -> std::same_as<runtime::step>;
};

}  // namespace mxkv::index
