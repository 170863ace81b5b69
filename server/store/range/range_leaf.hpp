// One leaf of a page. State that is the same for all its entries is looked up once, and their replies go into
// one piece of the output. Most entries are live, printable, small, and within all limits: take_run() writes
// rows of such entries (plain_run.hpp). visit() decides about every other entry.
#pragma once

#include <cstdint>
#include <string_view>

#include "server/reply/connection_table.hpp"
#include "server/reply/reply_writer.hpp"
#include "server/store/core/store_task.hpp"
#include "server/store/core/visibility.hpp"
#include "server/store/item/value_reply.hpp"
#include "server/store/range/plain_form.hpp"
#include "server/store/range/range_state.hpp"
#include "server/store/range/range_walk.hpp"

namespace mxkv::server {

/// Thread-safety: owner worker only, while pinned. No other task writes the reply of `address` meanwhile.
class RangeLeaf {
 public:
  /// `start`: the first key of the page, if state.skip_start.
  RangeLeaf(RangeState& state, const ReplyAddress& address, const PagePlace& page, std::string_view start,
            const ItemNode& leaf, runtime::Worker& worker, PlainForm& plain_form) noexcept
      : state_(state),
        worker_(worker),
        live_(worker, state.moment_us),
        queue_(page.queue),
        writer_(queue_, page.ticket),
        ticket_(page.ticket),
        time_is_up_(state.items > 0 && worker.now_ns() > state.deadline_ns),
        newest_(newest_at_once(worker.local<WorkerContext>())),
        leaf_(leaf),
        address_(address),
        start_(start),
        plain_form_(plain_form),
        usual_(queue_ != nullptr && !time_is_up_ && !state.keys_only && !state.base64 && !state.with_cas) {}

  /// Writes usual entries from `from` on. Returns the first entry that it leaves to visit(). It never takes
  /// the last entry of a page.
  unsigned take_run(const index::LeafEntries& entries, unsigned from, unsigned to, unsigned ask_to);

  /// Takes an entry, in order. False: the page is at its end.
  bool visit(std::uint64_t /*head*/, std::uint64_t value) {
    const Item::View item{*ItemRecord::item(value)};
    const std::string_view key = item.key();
    if (state_.beyond(key)) {
      return false;
    }
    const bool more = take(key, item);
    if (newest_ != WorkerContext::kNoHorizon) [[unlikely]] {  // also if the item does not count
      RangeWalk::saw(state_, address_, &item.item(), leaf_, worker_);
    }
    return more;
  }

 private:
  /// Room that take_run() writes into. If less is left, visit() takes an entry, which gets more.
  static constexpr std::size_t kLeastRoom = kAroundValue + 500;

  /// Writes the entry, if it counts. False: the page is at its end.
  [[nodiscard, gnu::always_inline]] bool take(std::string_view key, const Item::View& item) {
    if (skips(key) || !live_(item)) {
      return true;
    }
    const std::uint64_t bytes = key.size() + (state_.keys_only ? 0 : item.value_bytes());
    if (!within_limits(bytes) || !can_write(key)) [[unlikely]] {
      return false;
    }
    if (state_.keys_only || state_.base64 || item.large()) [[unlikely]] {
      if (item.large() && !state_.keys_only && queue_ == state_.away) {
        state_.goes_on_at = &item.item();  // a reference to its value would be another worker's to give back
        return false;
      }
      write_unusual(key, item);
    } else {
      char* const out = writer_.reserve(kAroundValue + item.value().size());
      writer_.commit(write_inline_value(out, key, item, ReplyForm{.with_cas = state_.with_cas}));
    }
    ++state_.items;
    state_.bytes += bytes;
    state_.last = &item.item();
    // Without a cursor in the reply it need not be known whether there is more.
    return state_.items < state_.item_limit || state_.ceiling || state_.want_cursor;
  }
  [[nodiscard]] bool skips(std::string_view key) noexcept {
    if (!state_.skip_start) [[likely]] {
      return false;
    }
    state_.skip_start = false;  // only the first entry can be the start
    return key == start_;
  }
  [[nodiscard]] bool within_limits(std::uint64_t bytes) noexcept {
    const bool within = state_.items < state_.item_limit && !time_is_up_ &&
                        (state_.bytes + bytes <= state_.byte_limit || state_.items == 0);
    if (!within) [[unlikely]] {
      state_.more = true;
      state_.ceiling = state_.ceiling || state_.items < state_.item_limit;
    }
    return within;
  }
  /// Whether the client is still there, and its protocol can carry the key.
  [[nodiscard]] bool can_write(std::string_view key) noexcept {
    if (!protocol::is_printable_key(key) && !state_.base64) [[unlikely]] {
      state_.binary_key = true;
      return false;
    }
    return queue_ != nullptr;
  }
  void write_unusual(std::string_view key, const Item::View& item);
  void write_meta_item(const Item::View& item);

  RangeState& state_;
  runtime::Worker& worker_;
  Liveness live_;
  ReplyQueue* queue_;  ///< null: the client is gone
  ReplyWriter writer_;
  std::uint32_t ticket_;
  bool time_is_up_;       ///< for entries that are not the first; by the round's clock, since replies go at
                          ///< its end
  std::uint64_t newest_;  ///< items above it make the reply wait
  const ItemNode& leaf_;
  const ReplyAddress& address_;
  std::string_view start_;
  PlainForm& plain_form_;  ///< of the page's last usual item
  bool usual_;             ///< take_run() may take entries
};

}  // namespace mxkv::server
