// What tasks that walk a range share: where they are in it, its far bound and limits, and the cursor from
// which another page goes on. What does not fit a task's block sits in a second one, RangeState.
#pragma once

#include "protocol/request.hpp"
#include "server/reply/reply_address.hpp"
#include "server/store/range_state.hpp"

namespace mxkv::server {

/// Thread-safety: whoever runs the task.
class RangeWalk {
 public:
  /// The state of a task to be made; with a copy of the flags of a meta command.
  [[nodiscard]] static RangeState* make_state(runtime::Worker& worker, const protocol::MetaFlags* meta);

  [[nodiscard]] std::string_view key() const noexcept { return {key_, key_bytes_}; }
  /// Where to go on, for when the pin goes.
  void set_key(std::string_view key) noexcept;

 protected:
  RangeWalk(RangeState& state, const ReplyAddress& address) noexcept : state_(&state), address_(address) {}

  /// Limits of the page that begins now.
  void limit(const protocol::RangeRequest& request, const RangeLimits& limits, std::uint64_t now_ns) noexcept;
  void set_bounds(const protocol::RangeRequest& request) noexcept;
  /// Writes where the next page begins; needs protocol::kMaxCursorBytes.
  char* write_cursor(char* out) noexcept;
  /// Goes to the least key above all that begin with `prefix`.
  void start_behind_prefix(std::string_view prefix) noexcept;
  void release(runtime::Worker& worker) noexcept;
  /// The reply is closed: gives back what the task holds.
  runtime::step end(runtime::MxTask& task, runtime::Worker& worker);

  RangeState* state_;
  ReplyAddress address_;

 private:
  void set_start(const protocol::RangeBound& bound) noexcept;

  std::uint8_t key_bytes_ = 0;
  char key_[index::kMaxKeyBytes + 1];  ///< one more for "just above a key"
  static_assert(index::kMaxKeyBytes + 1 <= 255);
};

static_assert(sizeof(RangeState) <= runtime::kLargestTaskBytes);

}  // namespace mxkv::server
