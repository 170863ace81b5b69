// What tasks that walk a range share: where they are in it, its far bound and limits, and the cursor from
// which another page goes on. What does not fit a task's block sits in a second one, RangeState.
#pragma once

#include <algorithm>

#include "index/commit_point.hpp"
#include "protocol/request.hpp"
#include "runtime/hierarchy/slots.hpp"
#include "server/reply/reply_address.hpp"
#include "server/store/range/range_state.hpp"

namespace mxkv::server {

class KeyPartition;

/// What going over the items of a leaf takes, in turns of usual tasks (Worker::charge()).
inline constexpr std::uint32_t kTurnsOfLeaf = 16;

/// Where a page is written. Null: the client is gone.
struct PagePlace {
  ReplyQueue* queue;
  std::uint32_t ticket;
};

/// What holds its range may walk on another worker than its connection's. There it writes into a queue of its
/// own, whose blocks are that worker's; home copies that, and has it taken back.
///
/// Thread-safety: whoever runs the task.
class RangeWalk {
 public:
  /// The state of a task to be made; with a copy of the flags of a meta command.
  [[nodiscard]] static RangeState* make_state(runtime::Worker& worker, const protocol::MetaFlags* meta);

  [[nodiscard]] std::string_view key() const noexcept { return {key_, key_bytes_}; }
  /// For RangeLock: what may hold keys of the range, from the start to the far bound.
  [[nodiscard]] runtime::SlotInterval held_slots(const KeyPartition& slots) const noexcept;
  /// Where to go on, for when the pin goes.
  void set_key(std::string_view key) noexcept;

 protected:
  RangeWalk(RangeState& state, const ReplyAddress& address) noexcept : state_(&state), address_(address) {}

  /// Limits of the page that begins now.
  void limit(const protocol::RangeRequest& request, const RangeLimits& limits, std::uint64_t now_ns) noexcept;
  /// Limits of what holds its range and does all of it or nothing: items alone.
  void limit_whole(const protocol::RangeRequest& request, const RangeLimits& limits) noexcept {
    state_->item_limit = std::min(request.limit, limits.locked_items);
  }
  void set_bounds(const protocol::RangeRequest& request) noexcept;
  /// Writes where the next page begins; needs protocol::kMaxCursorBytes.
  char* write_cursor(char* out) noexcept;
  /// Goes to the least key above all that begin with `prefix`.
  void start_behind_prefix(std::string_view prefix) noexcept;
  /// The range is held from now on: this is the moment of the operation, and its time begins.
  void hold(RangeLock& lock, runtime::Worker& worker) noexcept;
  /// Where the page is written now. At home, or where open_page_away() was called.
  [[nodiscard]] PagePlace page(runtime::Worker& worker) const noexcept;
  [[nodiscard]] bool is_home(const runtime::Worker& worker) const noexcept {
    return worker.id().value() == address_.worker;
  }
  /// Of a walk that writes as it goes: nothing at home.
  void open_page_away(runtime::Worker& worker);
  /// At home: what was written elsewhere is the reply's beginning.
  void take_page(runtime::Worker& worker);
  /// Where it was written: nothing of it is wanted.
  void drop_page(runtime::Worker& worker) noexcept;
  /// It has come to its end here, and only answers at home: others may have the range.
  void let_go(runtime::Worker& worker) noexcept;
  /// The walk stops at `goes_on_at`: from there on it is home's.
  void stop_before_next() noexcept;
  /// Of a page that holds a part: it ends where that ends.
  void end_with_part(const runtime::SlotInterval& held, const KeyPartition& slots) noexcept;
  /// Of an operation that may go over its range twice, and shows nothing of it the first time.
  void note_start() noexcept;
  void back_to_start() noexcept;
  /// The range from that start on, for the commit point. Good as long as the task.
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
  /// Writes `text` in place of the reply.
  runtime::step refuse(std::string_view text, runtime::MxTask& task, runtime::Worker& worker);
  void release(runtime::Worker& worker) noexcept;
  /// The reply is closed: gives back what the task holds.
  runtime::step end(runtime::MxTask& task, runtime::Worker& worker);
  /// The task has come back to where its page was written: it ends here.
  runtime::step page_came_back(runtime::Worker& worker) noexcept {
    release(worker);
    return runtime::step::done;
  }

  RangeState* state_;
  ReplyAddress address_;

 private:
  [[nodiscard]] runtime::SlotInterval part_of(const runtime::SlotInterval& all,
                                              const KeyPartition& slots) const noexcept;
  void set_start(const protocol::RangeBound& bound) noexcept;

  bool start_skipped_ = false;  ///< of note_start()
  std::uint8_t key_bytes_ = 0;
  char key_[index::kMaxKeyBytes + 1];  ///< one more for "just above a key"
  static_assert(index::kMaxKeyBytes + 1 <= 255);
};

static_assert(sizeof(RangeState) <= runtime::kLargestTaskBytes);

}  // namespace mxkv::server
