// Shared by tasks that walk a range: their position, far bound and limits, and the cursor for the next page.
// State that does not fit a task's block is in a second one, RangeState.
#pragma once

#include <algorithm>

#include "index/commit_point.hpp"
#include "protocol/request.hpp"
#include "runtime/hierarchy/slots.hpp"
#include "server/reply/reply_address.hpp"
#include "server/store/core/visibility.hpp"
#include "server/store/range/range_state.hpp"

namespace mxkv::server {

class KeyPartition;

/// The cost of walking the items of a leaf, in turns of usual tasks (Worker::charge()).
inline constexpr std::uint32_t kTurnsOfLeaf = 16;

/// The queue and ticket of the page. Null: the client is gone.
struct PagePlace {
  ReplyQueue* queue;
  std::uint32_t ticket;
};

/// A task that holds its range may walk it on another worker than its connection's. There it writes the page
/// into a queue of its own, with blocks of that worker. Home copies the page, and then sends the task back to
/// free the queue.
///
/// Thread-safety: the task that walks.
class RangeWalk {
 public:
  /// Makes the state of a task, with a copy of the flags of a meta command.
  [[nodiscard]] static RangeState* make_state(runtime::Worker& worker, const protocol::MetaFlags* meta);

  [[nodiscard]] std::string_view key() const noexcept { return {key_, key_bytes_}; }
  /// For RangeLock: the slots that may have keys of the range, from the start to the far bound.
  [[nodiscard]] runtime::SlotInterval held_slots(const KeyPartition& slots) const noexcept;
  /// Copies the key where the walk goes on, for when the pin goes.
  void set_key(std::string_view key) noexcept;
  /// See saw() below; for the visitor of a leaf.
  [[gnu::always_inline]] static Seen saw(RangeState& state, const ReplyAddress& address, const Item* item,
                                         const ItemNode& leaf, runtime::Worker& worker) noexcept {
    return worker.local<WorkerContext>().minds_horizon()
               ? saw_with_horizon(state, address, item, leaf, worker)
               : Seen::data(false);
  }

 protected:
  RangeWalk(RangeState& state, const ReplyAddress& address) noexcept : state_(&state), address_(address) {}

  /// Sets the limits of the page that begins now.
  void limit(const protocol::RangeRequest& request, const RangeLimits& limits, std::uint64_t now_ns) noexcept;
  /// Sets the limit of an operation that does all of its range or nothing: items only.
  void limit_whole(const protocol::RangeRequest& request, const RangeLimits& limits) noexcept {
    state_->item_limit = std::min(request.limit, limits.locked_items);
  }
  void set_bounds(const protocol::RangeRequest& request) noexcept;
  /// Writes the cursor of the next page; needs protocol::kMaxCursorBytes.
  char* write_cursor(char* out) noexcept;
  /// Moves the start to the least key above all keys with `prefix`.
  void start_behind_prefix(std::string_view prefix) noexcept;
  /// Notes that the range is held. The operation's moment is now, and its time starts.
  void hold(RangeLock& lock, runtime::Worker& worker) noexcept;
  /// The place of the page on this worker: home, or the worker that called open_page_away().
  [[nodiscard]] PagePlace page(runtime::Worker& worker) const noexcept;
  [[nodiscard]] bool is_home(const runtime::Worker& worker) const noexcept {
    return worker.id().value() == address_.worker;
  }
  /// Opens a page on this worker, for a walk that writes while it walks. Does nothing at home.
  void open_page_away(runtime::Worker& worker);
  /// At home: copies the page written elsewhere to the start of the reply.
  void take_page(runtime::Worker& worker);
  /// Frees the page. On the worker that opened it.
  void drop_page(runtime::Worker& worker) noexcept;
  /// Releases the lock: the walk has ended, and only the answer at home is left.
  void let_go(runtime::Worker& worker) noexcept;
  /// Moves the start to `goes_on_at`, where home goes on.
  void stop_before_next() noexcept;
  /// Makes a page that holds only a part of its range end with that part.
  void end_with_part(const runtime::SlotInterval& held, const KeyPartition& slots) noexcept;
  /// Notes the start, for an operation that may walk its range twice, and shows nothing the first time.
  void note_start() noexcept;
  void back_to_start() noexcept;
  /// The range from the noted start on, for the commit point. Valid as long as the task.
  [[nodiscard]] index::ChangedRange<std::string_view> changed_range() const noexcept {
    return {.from = key(),
            .to = {state_->far_key, state_->far_bytes},
            .far = state_->far,
            .skips_from = state_->skip_start,
            .context = state_,
            .beyond = [](const void* state, std::string_view key) {
              return static_cast<const RangeState*>(state)->beyond(key);
            }};
  }
  /// The walk has read a leaf, and `item` in it; null: no item. Call it after the last read of the item. At home the
  /// reply is marked at once, as its bytes may leave before the walk ends. Returns all that the reply has seen.
  Seen saw(const Item* item, const ItemNode& leaf, runtime::Worker& worker) noexcept {
    return saw(*state_, address_, item, leaf, worker);
  }
  /// At home: all that the walk has read so far, wherever it read.
  [[nodiscard]] Seen seen(const WorkerContext& context) const noexcept {
    return state_->seen.at_home(context);
  }
  /// Answers with `text` instead of the reply.
  runtime::step refuse(Seen seen, std::string_view text, runtime::MxTask& task, runtime::Worker& worker);
  void release(runtime::Worker& worker) noexcept;
  /// The reply is closed: frees everything that the task holds.
  runtime::step end(runtime::MxTask& task, runtime::Worker& worker);
  /// Back on the worker that wrote its page, the task ends.
  runtime::step page_came_back(runtime::Worker& worker) noexcept {
    release(worker);
    return runtime::step::done;
  }

  RangeState* state_;
  ReplyAddress address_;

 private:
  [[gnu::noinline, gnu::cold]] static Seen saw_with_horizon(RangeState& state, const ReplyAddress& address,
                                                            const Item* item, const ItemNode& leaf,
                                                            runtime::Worker& worker) noexcept;
  [[nodiscard]] runtime::SlotInterval part_of(const runtime::SlotInterval& all,
                                              const KeyPartition& slots) const noexcept;
  void set_start(const protocol::RangeBound& bound) noexcept;

  bool start_skipped_ = false;  ///< of note_start()
  std::uint8_t key_bytes_ = 0;
  char key_[index::kMaxKeyBytes + 1];  ///< one more for the least key above the longest
  static_assert(index::kMaxKeyBytes + 1 <= 255);
};

static_assert(sizeof(RangeState) <= runtime::kLargestTaskBytes);

}  // namespace mxkv::server
