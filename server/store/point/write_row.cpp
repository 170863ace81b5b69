#include "server/store/point/write_row.hpp"

#include <algorithm>

#include "protocol/reply.hpp"
#include "runtime/base/paths.hpp"
#include "server/reply/connection_table.hpp"
#include "server/store/core/quotas.hpp"
#include "server/store/core/store_state.hpp"
#include "server/store/core/visibility.hpp"
#include "server/store/locks/range_locks.hpp"
#include "server/store/point/write_operation.hpp"
#include "server/store/upkeep/background_writes.hpp"
#include "server/store/upkeep/upkeep.hpp"
#include "server/store/watch/watch_hub.hpp"

namespace mxkv::server {

namespace {

/// The part of a put under the latch: as WriteTask's for a set.
struct RowWriter {
  [[nodiscard, gnu::always_inline]] bool admitted(std::string_view key) const noexcept {
    return !locks.holds_off(key);
  }
  [[nodiscard, gnu::always_inline]] index::Change commit(ItemNode& leaf, std::uint64_t old,
                                                         std::uint64_t value) const noexcept {
    return WriteOperation::commit_put(leaf, old != 0 ? ItemRecord::item(old) : nullptr,
                                      *ItemRecord::item(value), worker);
  }

  const RangeLocks& locks;
  runtime::Worker& worker;
};

/// How many values come before the first one whose quota is full, or may be full once the others before it are put.
std::size_t before_full_quota(std::span<const protocol::SentValue> values,
                              const WorkerContext& context) noexcept {
  const Quotas& quotas = *context.store->quotas();
  std::uint64_t before = 0;
  const auto full = std::ranges::find_if(values, [&](const protocol::SentValue& sent) {
    const bool refuses = quotas.refuses(sent.key(), *context.quotas, before);
    before += kBesideItem + Item::kMostBeforeKey + sent.key().size() + sent.value().size();
    return refuses;
  });
  return static_cast<std::size_t>(full - values.begin());
}

/// Prefetches what welcome_item() of the absent keys will read.
[[gnu::noinline]] void prefetch_ghosts(std::span<const protocol::SentValue> values, const WriteRow::Put& row,
                                       const Ghosts& ghosts) noexcept {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (row.found(i) == 0) {
      ghosts.prefetch(Ghosts::hash_of(values[i].key()));
    }
  }
}

/// The effect of a row on counters.
struct RowTally {
  std::uint64_t bytes = 0;  ///< added; below 0 it wraps around
  std::uint64_t items = 0;  ///< added
};

}  // namespace

bool WriteRow::may_write(const ReplyAddress& first, CommitSeq seq, runtime::Worker& worker) noexcept {
  auto& context = worker.local<WorkerContext>();
  return worker.takes_fast_paths() && context.refusal == nullptr && !context.watch->wants(~0U) &&
         ConnectionTable::is_wanted(first) && context.replies->commit_turn(first, seq);
}

std::size_t WriteRow::store(ItemTree& tree, std::span<const protocol::SentValue> values,
                            const ReplyAddress& first, CommitSeq seq, runtime::Worker& worker) {
  auto& context = worker.local<WorkerContext>();
  ConnectionTable& replies = *context.replies;
  Put row;
  if (context.quotas != nullptr) [[unlikely]] {
    context.upkeep->mind_quotas(worker);
  }
  if (context.quota_near_limit) [[unlikely]] {
    values = values.first(before_full_quota(values, context));
    if (values.size() < kLeast) {
      return 0;
    }
  }
  const std::size_t found =
      row.look_up(tree, values.size(), [values](std::size_t i) { return values[i].key(); });
  const std::span<char> room =
      found == 0 ? std::span<char>{}
                 : replies.reserve_row(first, saw_change(context), found * protocol::kStored.size());
  if (room.empty()) [[unlikely]] {
    return 0;
  }
  if (context.ghosts->any()) {
    prefetch_ghosts(values.first(found), row, *context.ghosts);
  }
  RowWriter writer{*context.locks, worker};
  RowTally tally;
  char* out = room.data();
  std::size_t stored = 0;
  for (; stored < found; ++stored) {
    const protocol::SentValue& sent = values[stored];
    Item* const item = Item::create_whole(worker, sent.key(), sent.value());
    if (item == nullptr) [[unlikely]] {
      break;
    }
    if (!row.put(tree, stored, sent.key(), ItemRecord::word(item), writer, worker)) [[unlikely]] {
      Item::destroy(worker, item);
      break;
    }
    tally.bytes += item->plain_bytes();
    const std::uint64_t old = row.found(stored);
    if (context.quotas != nullptr) [[unlikely]] {
      context.quotas->stored(*item, old != 0 ? ItemRecord::item(old) : nullptr);
    }
    if (old != 0) [[likely]] {
      Item* const before = ItemRecord::item(old);
      const std::size_t bytes = before->memory_bytes();
      tally.bytes -= bytes;
      worker.retire(before, context.store->item_kind(), bytes);
    } else {
      ++tally.items;
      welcome_item(context, *item);
    }
    out = protocol::write_text(out, sent.meta ? protocol::kMetaDone : protocol::kStored);
  }
  replies.close_row(first, static_cast<std::uint32_t>(stored), out);
  if (stored != 0) {
    MXKV_PATH(write_row);
    context.counters.count(counter::items_added, tally.items);
    context.counters.count(counter::bytes_added, tally.bytes);
    context.counters.count(counter::total_items, stored);
    context.counters.count(counter::cmd_set, stored);
    worker.count_ended(stored);
    replies.finished_row(first, seq, static_cast<std::uint32_t>(stored));
  }
  return stored;
}

}  // namespace mxkv::server
