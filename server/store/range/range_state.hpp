// The state of a page of a range that is too large for its task: limits, far bound, results so far.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "index/commit_point.hpp"
#include "index/key.hpp"
#include "protocol/meta.hpp"
#include "server/store/core/visibility.hpp"
#include "server/store/item/item.hpp"

namespace mxkv::server {

class RangeLock;
class ReplyQueue;

/// How large ranges are divided between workers.
struct RangeSplitting {
  std::uint32_t leaves_alone = 64;   ///< leaves that one task walks before it asks for others
  std::uint32_t leaves_a_part = 64;  ///< about the least
  std::uint32_t parts_a_worker = 8;  ///< the most of an operation; 0: no range is divided
};

/// Ceilings of a page.
struct RangeLimits {
  std::uint64_t items = 1000;
  std::uint64_t bytes = std::uint64_t{1} << 20U;
  std::uint64_t time_ns = 5'000'000;
  std::uint64_t locked_items = 1'000'000;  ///< of an operation that holds its range, unless it is a page
  RangeSplitting splitting = {};
};

struct RangeState {
  using far_bound = index::far_end;

  std::uint64_t item_limit = 0;  ///< of this page
  std::uint64_t byte_limit = 0;
  std::uint64_t created_ns = 0;
  std::uint64_t deadline_ns = 0;
  std::uint64_t items = 0;
  std::uint64_t bytes = 0;
  protocol::MetaFlags* meta = nullptr;  ///< of a meta command
  RangeLock* lock = nullptr;            ///< holds the range; null: it is not held
  std::uint64_t moment_us = 0;          ///< when items must be live; 0: when they are met
  const Item* last = nullptr;           ///< the last item written; null: last_key has its key
  ReplyQueue* away = nullptr;  ///< the page, while a worker other than the home writes it (range_walk.hpp)
  SeenOrder seen;              ///< by the walk so far, on any worker
  std::string_view cut;        ///< RangeRequest::cut
  const Item* goes_on_at =
      nullptr;                ///< the walk goes on at home with this one, which cannot be written there
  std::uint16_t away_at = 0;  ///< the worker that `away` belongs to
  far_bound far = far_bound::none;
  std::uint8_t far_bytes = 0;
  bool reverse = false;
  bool keys_only = false;
  bool with_cas = false;
  bool base64 = false;
  bool want_cursor = false;     ///< even if only the client's limit ends the page
  bool ceiling = false;         ///< a ceiling, not the client, would end the page
  bool holds_part = false;      ///< without a far bound, and only some slots are held
  bool skip_start = false;      ///< the first key itself is not wanted
  bool more = false;            ///< the page ended before the range did
  bool too_many = false;        ///< more items than an operation may hold
  bool page_goes_back = false;  ///< the task takes `away` back to the worker that made it
  bool binary_key = false;      ///< met a key that the classic form cannot carry
  std::uint8_t last_bytes = 0;  ///< length of last_key
  char far_key[index::kMaxKeyBytes];
  char last_key[index::kMaxKeyBytes + 1];  ///< one more for a start that is noted here

  /// Whether a key lies behind the far bound.
  [[nodiscard]] bool beyond(std::string_view key) const noexcept { return is_bounded() && beyond_bound(key); }
  /// Whether there may be a key behind the far bound.
  [[nodiscard]] bool is_bounded() const noexcept { return far != far_bound::none || !cut.empty(); }
  /// Ends the page at its cut, where the next one begins.
  void end_at_cut() noexcept;
  /// The key written last, where a cursor goes on. Only while the task has the pin under which it met that
  /// key.
  [[nodiscard]] std::string_view last_written() noexcept {
    keep_last();
    return {last_key, last_bytes};
  }
  /// The same, without a copy. Good until keep_last().
  [[nodiscard]] std::string_view last_seen() const noexcept {
    return last != nullptr ? last->key() : std::string_view{last_key, last_bytes};
  }
  /// Copies the key written last, before the pin goes.
  void keep_last() noexcept {
    if (last != nullptr) {
      const std::string_view key = last->key();
      MXKV_DCHECK(key.size() <= index::kMaxKeyBytes, "the key of an item fits");
      std::memcpy(last_key, key.data(), key.size());
      last_bytes = static_cast<std::uint8_t>(key.size());
      last = nullptr;
    }
  }

 private:
  [[nodiscard]] bool beyond_bound(std::string_view key) const noexcept;
};

}  // namespace mxkv::server
