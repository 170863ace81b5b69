// Replies that may have to wait until the data they show is on disk, and refusals of writes while the disk
// cannot be written. Without a journal each check costs one predictable branch.
//
// A change that is not on disk yet has an order above the horizon (WorkerContext). That order is in the
// changed item, or in the floor of its leaf. So these two words cover everything that a read has seen; the
// item's word is enough where no touch can have met the item (order_of()). The floor is read after the read
// of the leaf was validated: the floor only grows, and each change that the read saw had raised it before.
// That holds for an item that is changed in place while its leaf is latched, too: the floor is raised first
// (Item::store_expiry, Item::View::expiry). A delayed flush is in neither word, so its order counts wherever
// the flush may have decided.
//
// At the end of the round server/net decides whether a marked reply waits, and for which order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "server/reply/reply_address.hpp"
#include "server/store/core/store_task.hpp"
#include "server/store/core/worker_context.hpp"

namespace mxkv::server {

namespace detail {
// Out of line, so that the callers stay short and are still inlined.
void await_disk(const ReplyAddress& address, WorkerContext& context) noexcept;
void await_read(const Item* item, const ItemNode& leaf, const ReplyAddress& address,
                WorkerContext& context) noexcept;
/// For an item that the read met.
template <class ItemView>
[[nodiscard, gnu::always_inline]] inline std::uint64_t order_of_item(const ItemView& item,
                                                                     const ItemNode& leaf,
                                                                     const WorkerContext& context) noexcept {
  return std::max(order_of(item, leaf), context.flush_points->order.load(std::memory_order_relaxed));
}
[[nodiscard]] std::uint64_t order_of_read(const Item* item, const ItemNode& leaf,
                                          const WorkerContext& context) noexcept;
template <class Task>
[[gnu::noinline, gnu::cold]] void await_read(const Item* item, const Task& task, const ReplyAddress& address,
                                             WorkerContext& context) noexcept {
  await_read(item, task.leaf(), address, context);
}
}  // namespace detail

/// Notes what a read on another worker has seen: keeps the greatest order in `order`, for await_order() at
/// home.
[[gnu::always_inline]] inline void note_read(const Item* item, const ItemNode& leaf, std::uint64_t& order,
                                             WorkerContext& context) noexcept {
  if (context.minds_horizon()) [[unlikely]] {
    order = std::max(order, detail::order_of_read(item, leaf, context));
  }
}

// All of these run on the home worker of `address`; `context` is that worker's.

/// Marks the reply for an order that note_read() collected on another worker.
inline void await_order(std::uint64_t order, const ReplyAddress& address, WorkerContext& context) noexcept {
  if (context.minds_horizon() && order > context.horizon_us) [[unlikely]] {
    detail::await_disk(address, context);
  }
}

/// Marks the reply for a read that saw a leaf, and `item` in it if it met one. `where`: the leaf, or a task
/// with a leaf(), which is only asked for if it matters.
template <class Where>
[[gnu::always_inline]] inline void await_read(const Item* item, const Where& where,
                                              const ReplyAddress& address, WorkerContext& context) noexcept {
  if (context.minds_horizon()) [[unlikely]] {
    detail::await_read(item, where, address, context);
  }
}

template <class Where>
[[gnu::always_inline]] inline void await_read(const Item* item, const Where& where,
                                              const ReplyAddress& address, runtime::Worker& worker) noexcept {
  await_read(item, where, address, worker.local<WorkerContext>());
}

/// Whether await_read() would, or might, make the reply wait; for tasks that only answer at once if all they
/// show is on disk. `item`: an item or a view of it. Call it after the last read of the item that matters.
template <class ItemView, class Task>
[[nodiscard, gnu::always_inline]] inline bool must_await(const ItemView& item, const Task& task,
                                                         const WorkerContext& context) noexcept {
  return context.minds_horizon() && detail::order_of_item(item, task.leaf(), context) > context.horizon_us;
}

/// The same for a leaf whose floor was passed to await_read() already: its items up to the returned order
/// need not wait. kNoHorizon: no item has to. Call it after reading which of the items a flush has taken.
[[nodiscard]] inline std::uint64_t newest_at_once(const WorkerContext& context) noexcept {
  if (!context.minds_horizon()) [[likely]] {
    return WorkerContext::kNoHorizon;
  }
  const bool flushed_since = context.flush_points->order.load(std::memory_order_relaxed) > context.horizon_us;
  return flushed_since ? 0 : context.horizon_us;
}

/// Call this before answering any command that may write. It waits even if nothing changed, because the
/// command has read.
[[gnu::always_inline]] inline void await_write(const ReplyAddress& address, WorkerContext& context) noexcept {
  if (context.writes_wait) [[unlikely]] {
    detail::await_disk(address, context);
  }
}

[[gnu::always_inline]] inline void await_write(const ReplyAddress& address,
                                               runtime::Worker& worker) noexcept {
  await_write(address, worker.local<WorkerContext>());
}

/// The error line of a refused write. `reason`: WorkerContext::refusal.
[[nodiscard]] std::string refusal_text(const char* reason);

}  // namespace mxkv::server
