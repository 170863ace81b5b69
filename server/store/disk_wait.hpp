// Replies that may have to wait until what they tell of is on disk, and writes that are refused since nothing
// can be written there. Without a journal each costs one predictable branch.
//
// A change that is not on disk yet has an order above the horizon (WorkerContext). Its order is in the item, or
// in the floor of the leaf that it changed, so those two words tell of all that a read has seen; the first by itself
// where no touch can have met the item (order_of()). The floor is read after the read of the leaf was validated: it
// only grows, and what was seen had raised it before. That holds for an item changed in place, too, while its leaf
// is latched: the floor is raised first (Item::store_expiry, Item::View::expiry). That a flush is set for later is
// in neither word: its order counts where it may have decided.
//
// Whether a marked reply waits, and for what, is decided at the end of the round (server/net).
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "protocol/point_request.hpp"
#include "server/reply/reply_address.hpp"
#include "server/store/store_task.hpp"
#include "server/store/worker_context.hpp"

namespace mxkv::server {

namespace detail {
// Apart, so that callers stay short, and are inlined as they were.
void await_disk(const ReplyAddress& address, WorkerContext& context) noexcept;
void await_read(const Item* item, const ItemNode& leaf, const ReplyAddress& address,
                WorkerContext& context) noexcept;
/// Of an item that was met.
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

/// A read elsewhere has seen this: `order` keeps what await_order() is to be told at home.
[[gnu::always_inline]] inline void note_read(const Item* item, const ItemNode& leaf, std::uint64_t& order,
                                             WorkerContext& context) noexcept {
  if (context.minds_horizon()) [[unlikely]] {
    order = std::max(order, detail::order_of_read(item, leaf, context));
  }
}

// All on the home worker of `address`, whose context it is.

/// What note_read() came to elsewhere.
inline void await_order(std::uint64_t order, const ReplyAddress& address, WorkerContext& context) noexcept {
  if (context.minds_horizon() && order > context.horizon_us) [[unlikely]] {
    detail::await_disk(address, context);
  }
}

/// A read has seen a leaf, and `item` in it, if it met one. `where`: the leaf, or a task whose leaf() it is,
/// which is asked for only if it matters.
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

/// Whether that would have it wait, or might: for who answers at once what is on disk. `item`: or a view of it; once
/// all else that matters has been read of it.
template <class ItemView, class Task>
[[nodiscard, gnu::always_inline]] inline bool must_await(const ItemView& item, const Task& task,
                                                         const WorkerContext& context) noexcept {
  return context.minds_horizon() && detail::order_of_item(item, task.leaf(), context) > context.horizon_us;
}

/// The same of a leaf whose floor was told already: its items up to this order need not wait; kNoHorizon: none does.
/// Once it was read which of them a flush has taken.
[[nodiscard]] inline std::uint64_t newest_at_once(const WorkerContext& context) noexcept {
  if (!context.minds_horizon()) [[likely]] {
    return WorkerContext::kNoHorizon;
  }
  const bool flushed_since = context.flush_points->order.load(std::memory_order_relaxed) > context.horizon_us;
  return flushed_since ? 0 : context.horizon_us;
}

/// What may have written is to be answered: also one that changed nothing has seen something.
[[gnu::always_inline]] inline void await_write(const ReplyAddress& address, WorkerContext& context) noexcept {
  if (context.writes_wait) [[unlikely]] {
    detail::await_disk(address, context);
  }
}

[[gnu::always_inline]] inline void await_write(const ReplyAddress& address,
                                               runtime::Worker& worker) noexcept {
  await_write(address, worker.local<WorkerContext>());
}

/// What is said of a write that is refused: an error line. `reason`: WorkerContext::refusal.
[[nodiscard]] std::string refusal_text(const char* reason);

/// Answers a request for one key that is refused, and drops what it sent (or null).
void refuse_point(const protocol::PointRequest& request, Item* sent, const ReplyAddress& address,
                  CommitSeq seq, runtime::Worker& worker);

}  // namespace mxkv::server
