// What replies of the store have seen (server/reply/seen.hpp): reads and changes that may not be on disk yet. Without
// a journal each look costs one predictable branch.
//
//   a read at home, a change    saw(..), saw_change(..)   ─> Seen ─> ConnectionTable::find(), reserve_next(), ..
//   a walk, on any worker       SeenOrder::add(..), of all that it reads; then at_home() ─> Seen
//
// Why no task can forget it: a reply is written only into room that ConnectionTable gives against a Seen, and a Seen
// of items comes from the functions below. A walk that goes home takes its SeenOrder along, because it needs one for
// the reply.
//
// A change that is not on disk yet has an order above the horizon (WorkerContext). That order is in the changed item,
// or in the floor of its leaf. So these two words cover everything that a read has seen; the item's word is enough
// where no touch can have met the item (order_of()). The floor is read after the read of the leaf was validated: the
// floor only grows, and each change that the read saw had raised it before. That holds for an item that is changed in
// place while its leaf is latched, too: the floor is raised first (Item::store_expiry, Item::View::expiry). So an item
// is looked at here after the last read of it that the reply shows. A delayed flush is in neither word, so its order
// counts wherever the flush may have decided.
//
// At the end of the round server/net decides for which order a marked reply waits.
#pragma once

#include <algorithm>
#include <cstdint>

#include "server/reply/seen.hpp"
#include "server/store/core/item_tree.hpp"
#include "server/store/core/orders.hpp"
#include "server/store/core/worker_context.hpp"

namespace mxkv::server {

namespace detail {
/// For an item that the read met.
template <class ItemView>
[[nodiscard, gnu::always_inline]] inline std::uint64_t order_of_item(const ItemView& item,
                                                                     const ItemNode& leaf,
                                                                     const WorkerContext& context) noexcept {
  return std::max(order_of(item, leaf), context.flush_points->order.load(std::memory_order_relaxed));
}
// Out of line, so that the callers stay short and are still inlined.
[[nodiscard]] std::uint64_t order_of_read(const Item* item, const ItemNode& leaf,
                                          const WorkerContext& context) noexcept;
template <class Task>
[[nodiscard, gnu::noinline, gnu::cold]] bool is_late(const Item* item, const Task& task,
                                                     const WorkerContext& context) noexcept {
  return order_of_read(item, task.leaf(), context) > context.horizon_us;
}
}  // namespace detail

/// A read that saw the task's leaf, and `item` in it; null: it met none. The leaf is only asked for if it matters.
template <class Task>
[[nodiscard, gnu::always_inline]] inline Seen saw(const Item* item, const Task& task,
                                                  const WorkerContext& context) noexcept {
  if (!context.minds_horizon()) [[likely]] {
    return Seen::data(false);
  }
  return Seen::data(detail::is_late(item, task, context));
}

/// The same for a view of an item, in line.
template <class ItemView, class Task>
  requires requires(const ItemView& view) { view.order(); }
[[nodiscard, gnu::always_inline]] inline Seen saw(const ItemView& item, const Task& task,
                                                  const WorkerContext& context) noexcept {
  if (!context.minds_horizon()) [[likely]] {
    return Seen::data(false);
  }
  return Seen::data(detail::order_of_item(item, task.leaf(), context) > context.horizon_us);
}

/// For any command that may write, even if it changed nothing, because it has read.
[[nodiscard, gnu::always_inline]] inline Seen saw_change(const WorkerContext& context) noexcept {
  return Seen::data(context.writes_wait);
}

/// The newest change that a walk has seen, by its order. Zero where reads need not wait. Plain.
class SeenOrder {
 public:
  /// On the worker that reads.
  [[gnu::always_inline]] void add(const Item* item, const ItemNode& leaf,
                                  const WorkerContext& context) noexcept {
    if (context.minds_horizon()) [[unlikely]] {
      order_ = std::max(order_, detail::order_of_read(item, leaf, context));
    }
  }
  void add(SeenOrder other) noexcept { order_ = std::max(order_, other.order_); }
  /// On the home worker of the reply.
  [[nodiscard]] Seen at_home(const WorkerContext& context) const noexcept {
    return Seen::data(context.minds_horizon() && order_ > context.horizon_us);
  }

 private:
  std::uint64_t order_ = 0;
};

/// For a leaf whose floor was added already: its items up to the returned order make no reply wait. kNoHorizon: no
/// item does. Call it after reading which of the items a flush has taken.
[[nodiscard]] inline std::uint64_t newest_at_once(const WorkerContext& context) noexcept {
  if (!context.minds_horizon()) [[likely]] {
    return WorkerContext::kNoHorizon;
  }
  const bool flushed_since = context.flush_points->order.load(std::memory_order_relaxed) > context.horizon_us;
  return flushed_since ? 0 : context.horizon_us;
}

}  // namespace mxkv::server
