// scan, scans, pscan, pscans: one page of a range, written to the client as it is found.
//
// A page ends at the client's limit, at the far bound, or at one of the server's ceilings (items, bytes,
// time), which leave a cursor. What does not fit the task's block (far bound, limits, counts) sits in a
// second one, so that a scan allocates nothing an item.
#pragma once

#include "protocol/request.hpp"
#include "server/reply/reply_directory.hpp"
#include "server/store/store_task.hpp"

namespace mxkv::server {

/// Ceilings of a page.
struct RangeLimits {
  std::uint64_t items = 1000;
  std::uint64_t bytes = std::uint64_t{1} << 20U;
  std::uint64_t time_ns = 5'000'000;
};

/// What a page still needs besides its task.
struct RangeState {
  enum class far_bound : std::uint8_t { none, inclusive, exclusive, prefix };

  std::uint64_t item_limit = 0;  ///< of this page
  std::uint64_t byte_limit = 0;
  std::uint64_t deadline_ns = 0;
  std::uint64_t items = 0;
  std::uint64_t bytes = 0;
  far_bound far = far_bound::none;
  std::uint8_t far_bytes = 0;
  bool reverse = false;
  bool keys_only = false;
  bool with_cas = false;
  bool base64 = false;
  bool want_cursor = false;     ///< even if only the client's limit ends the page
  bool ceiling = false;         ///< a ceiling, not the client, would end the page
  bool skip_start = false;      ///< the first key itself is not wanted
  bool more = false;            ///< the page ended before the range did
  bool binary_key = false;      ///< met a key that the classic form cannot carry
  std::uint8_t last_bytes = 0;  ///< length of last_key
  char far_key[index::kMaxKeyBytes];
  char last_key[index::kMaxKeyBytes];  ///< the last one that was written: where a cursor goes on
};

class RangeTask final : public index::ScanTask<RangeTask, ItemTraits> {
  using Base = index::ScanTask<RangeTask, ItemTraits>;

 public:
  static constexpr const char* kName = "range";

  RangeTask(const runtime::TaskClass* task_class, ItemTree& tree, const protocol::RangeRequest& request,
            const RangeLimits& limits, RangeState& state, const ReplyAddress& address,
            std::uint64_t now_ns) noexcept;

  [[nodiscard]] std::string_view key() const noexcept { return {key_, key_bytes_}; }
  void set_key(std::string_view key) noexcept;
  [[nodiscard]] bool backward() const noexcept { return state_->reverse; }
  bool visit(std::uint64_t head, std::uint64_t value, runtime::Worker& worker);
  runtime::step finished(bool exhausted, runtime::Worker& worker);
  void discard(runtime::Worker& worker);

 private:
  void set_bounds(const protocol::RangeRequest& request) noexcept;
  void set_start(const protocol::RangeBound& bound) noexcept;
  void start_behind_prefix(std::string_view prefix) noexcept;
  [[nodiscard]] bool beyond(std::string_view key) const noexcept;
  void write_entry(ReplyQueue& queue, const Item& item, runtime::Worker& worker);
  void write_cursor_line(ReplyQueue& queue);

  RangeState* state_;
  ReplyAddress address_;
  std::uint8_t key_bytes_ = 0;
  char key_[index::kMaxKeyBytes + 1];  ///< where to go on; one more for "just above a key"
  static_assert(index::kMaxKeyBytes + 1 <= 255);
};

static_assert(sizeof(RangeTask) <= runtime::kLargestTaskBytes);
static_assert(sizeof(RangeState) <= runtime::kLargestTaskBytes);

}  // namespace mxkv::server
