// Shared by the store's tasks: the key they carry, the way home, and the reply.
//
// A task may have to run on other workers (bound to a leaf's pool), but only the home worker of its
// connection writes the reply. And a write that will run elsewhere waits at home for its turn to commit,
// before it enters the tree. Both come back through resume_item(), which runs for a task without a data
// object.
#pragma once

#include <algorithm>
#include <cstring>
#include <string_view>

#include "index/scan_task.hpp"
#include "index/update_task.hpp"
#include "protocol/reply.hpp"
#include "server/reply/reply_address.hpp"
#include "server/store/core/item_tree.hpp"
#include "server/store/core/worker_context.hpp"
#include "server/store/item/expiry.hpp"
#include "server/store/item/item.hpp"

namespace mxkv::server {

/// A key in the task itself, for tasks whose key changes on the way.
class HeldKey {
 public:
  [[nodiscard]] std::string_view view() const noexcept { return {text_, bytes_}; }
  void set(std::string_view key) noexcept {
    if (!key.empty()) {  // an empty one may have no address
      std::memmove(text_, key.data(), key.size());
    }
    bytes_ = static_cast<std::uint8_t>(key.size());
  }

 private:
  std::uint8_t bytes_ = 0;
  char text_[index::kMaxKeyBytes];
};

/// A key that follows its task in the same block.
class TrailingKey {
 public:
  template <class Task>
  static void store(Task* task, std::string_view key) noexcept {
    protocol::write_short_text(reinterpret_cast<char*>(task) + sizeof(Task), key);
  }
  template <class Task>
  static std::string_view load(const Task* task, std::size_t bytes) noexcept {
    return {reinterpret_cast<const char*>(task) + sizeof(Task), bytes};
  }
};

/// Decides whether items are live at a moment: neither expired nor flushed.
class Liveness {
 public:
  explicit Liveness(runtime::Worker& worker) noexcept : Liveness(worker, 0) {}
  /// At `moment_us`, if it is not 0.
  Liveness(runtime::Worker& worker, std::uint64_t moment_us) noexcept
      : now_us_(moment_us != 0 ? moment_us : worker.now_us()) {
    flushed_ = worker.local<WorkerContext>().flush_points->at(now_us_);
  }
  template <class View>
  [[nodiscard]] bool operator()(const View& view) const noexcept {
    return !is_expired(view.expiry(), now_us_) && view.order() > flushed_;  // no cas unique is 0
  }
  /// Why an item is not live. True: a flush_all has taken it. False: it has expired.
  template <class View>
  [[nodiscard]] bool is_flushed(const View& view) const noexcept {
    return view.order() <= flushed_;
  }
  /// A flush has taken items up to this cas unique.
  [[nodiscard]] std::uint64_t flushed() const noexcept { return flushed_; }

 private:
  std::uint64_t now_us_;
  std::uint64_t flushed_;  ///< a flush has taken items up to this cas unique
};

[[nodiscard]] inline bool is_live(const Item& item, runtime::Worker& worker) noexcept {
  return Liveness{worker}(Item::View{item});
}

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

/// Takes the task out of the tree: it uses no data object any more, and runs in resume_item() next.
inline void leave_tree(runtime::MxTask& task) noexcept {
  task.annotate_lines(runtime::TaggedPointer{}, 0, 0);
  task.annotate(runtime::access::readonly);
  task.annotations().stage = static_cast<std::uint8_t>(index::stage::item);
}

/// Sends the task to the worker where its reply is written.
inline runtime::step go_home(runtime::MxTask& task, const ReplyAddress& address) noexcept {
  leave_tree(task);
  task.annotate(runtime::WorkerId{address.worker});
  return runtime::step::again;
}

}  // namespace mxkv::server
