// The orders of changes: the order of the last change of a key, and the next one.
#pragma once

#include <algorithm>
#include <cstdint>

#include "runtime/scheduler/worker.hpp"
#include "server/store/core/item_tree.hpp"
#include "server/store/core/worker_context.hpp"

namespace mxkv::server {

/// The greatest order of any change of this item, or more. A touch leaves its order only in the leaf's floor.
/// So the leaf's line is read only for items that a touch may have met: those with an exptime field. `item`:
/// an item or a view of it.
template <class ItemView>
[[nodiscard, gnu::always_inline]] inline std::uint64_t order_of(const ItemView& item,
                                                                const ItemNode& leaf) noexcept {
  return item.has_expiry_field() ? std::max(item.order(), leaf.order_floor()) : item.order();
}
/// The same for a key; `old` is null if it has no item.
[[nodiscard]] inline std::uint64_t order_before(const Item* old, const ItemNode& leaf) noexcept {
  return old == nullptr ? leaf.order_floor() : order_of(*old, leaf);
}

/// Mints an order above `before`, for a change under its leaf's latch, or of a held key.
[[nodiscard, gnu::always_inline]] inline std::uint64_t next_order(std::uint64_t before,
                                                                  runtime::Worker& worker) noexcept {
  constexpr std::uint64_t kGreatest = (std::uint64_t{1} << 53U) - 1;  // exact in a double
  auto& context = worker.local<WorkerContext>();
  const std::uint64_t clock_us = std::max(context.mint_us, worker.now_us());
  const std::uint64_t most = std::max(std::max(before, context.commits->floor()), clock_us);
  const std::uint64_t order = std::min(most + 1, kGreatest);
  if (order > context.greatest_order.load(std::memory_order_relaxed)) {
    context.greatest_order.store(order, std::memory_order_relaxed);
  }
  return order;
}

}  // namespace mxkv::server
