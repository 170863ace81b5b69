#include "server/durability/store_journal.hpp"

#include <array>
#include <cstring>

#include "index/key.hpp"
#include "runtime/scheduler/runtime.hpp"
#include "server/durability/item_record.hpp"
#include "server/store/core/item_tree.hpp"
#include "server/store/core/neighbour_keys.hpp"
#include "server/store/item/expiry.hpp"

namespace mxkv::server {

using index::cause;
using index::change;
using Commit = index::Commit<std::string_view>;

namespace {

void pieces_of(const void* owner, std::vector<std::string_view>& to) {
  for (const Chunk* chunk : static_cast<const ChunkList*>(owner)->pieces()) {
    to.emplace_back(chunk->data(), chunk->bytes);
  }
}

void release_list(const void* owner, void* worker) noexcept {
  ChunkList::drop(*static_cast<runtime::Worker*>(worker),
                  const_cast<ChunkList*>(static_cast<const ChunkList*>(owner)));
}

constexpr ApartClass kListOfChunks{pieces_of, release_list};

/// The range of a commit as bounds; `end` holds the end of a prefix.
RecordBounds bounds_of(const index::ChangedRange<std::string_view>& range, KeyRoom& end) noexcept {
  RecordBounds bounds{.from = range.from, .from_is_open = range.skips_from};
  switch (range.far) {
    case index::far_end::none:
      bounds.has_no_end = true;
      break;
    case index::far_end::inclusive:
      bounds.to = range.to;
      break;
    case index::far_end::exclusive:
      bounds.to = range.to;
      bounds.to_is_open = true;
      break;
    case index::far_end::prefix:
      bounds.to = behind_prefix(range.to, end);
      bounds.has_no_end = bounds.to.empty();
      bounds.to_is_open = !bounds.to.empty();
      break;
  }
  return bounds;
}

}  // namespace

StoreJournal::StoreJournal(std::vector<RecordBuffer*> buffers, record_times times) : desks_(buffers.size()) {
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    desks_[i].buffer = buffers[i];
    desks_[i].by_wall = times == record_times::wall;
  }
}

StoreJournal::Desk& StoreJournal::desk(runtime::Worker& worker) noexcept {
  MXKV_DCHECK(worker.id().index() < desks_.size(), "each worker has a desk");
  return desks_[worker.id().index()];
}

// Reads the clocks once a round, and only if an item expires and the record goes to other machines.
std::uint32_t StoreJournal::as_recorded(std::uint32_t expiry, Desk& desk, runtime::Worker& worker) noexcept {
  if (expiry == 0 || !desk.by_wall) [[likely]] {
    return expiry;
  }
  if (desk.asked_ns != worker.now_ns()) {
    desk.asked_ns = worker.now_ns();
    desk.wall_ahead_s = worker.runtime().clock().wall_ahead_s();
  }
  return wall_expiry(expiry, desk.wall_ahead_s);
}

void StoreJournal::put(const Item& item, Desk& desk, runtime::Worker& worker) noexcept {
  const Item::View view{item};
  const PutRecord record = record_of(view, as_recorded(view.expiry(), desk, worker));
  if (record.apart_bytes == 0) [[likely]] {
    desk.buffer->append(record);
    return;
  }
  ChunkList* const list = item.list();
  MXKV_ASSERT(list->bytes() == record.apart_bytes, "a value has as many bytes as its record says");
  list->reference();
  desk.buffer->put_apart(record, {.owner = list, .of = &kListOfChunks, .bytes = list->bytes()});
}

void StoreJournal::range(const Commit& commit, Desk& desk, runtime::Worker& worker) noexcept {
  MXKV_ASSERT(commit.range != nullptr, "what befell a range tells which");
  KeyRoom end;
  const RecordBounds bounds = bounds_of(*commit.range, end);
  if (commit.change.what == change::range_gone) {
    desk.buffer->append(RangeGoneRecord{.order = commit.change.order, .bounds = bounds});
    return;
  }
  const auto expiry = static_cast<std::uint32_t>(commit.value);
  const auto moment_s = static_cast<std::uint32_t>(commit.moment_us / kUsPerSecond);
  const std::uint64_t ahead_us =
      (std::uint64_t{as_recorded(moment_s, desk, worker)} - moment_s) * kUsPerSecond;
  desk.buffer->append(RangeTouchRecord{.order = commit.change.order,
                                       .bounds = bounds,
                                       .moment_us = commit.moment_us + ahead_us,
                                       .expiry = as_recorded(expiry, desk, worker)});
}

void StoreJournal::passed(const Commit& commit, runtime::Worker& worker) noexcept {
  Desk& own = desk(worker);
  if (commit.change.what == change::put) [[likely]] {
    const Item::View item{*ItemRecord::item(commit.value)};
    if (item.plain()) [[likely]] {
      own.buffer->append(PlainPut{.order = commit.change.order,
                                  .bytes = item.plain_begin(),
                                  .key_bytes = static_cast<std::uint32_t>(item.key().size()),
                                  .value_bytes = static_cast<std::uint32_t>(item.value().size()),
                                  .marks = item.marks()});
      return;
    }
  }
  passed_rarely(commit, own, worker);
}

// Out of line, so that the common changes save no registers for it.
void StoreJournal::passed_rarely(const Commit& commit, Desk& own, runtime::Worker& worker) noexcept {
  switch (commit.change.what) {
    case change::put:
      put(*ItemRecord::item(commit.value), own, worker);
      return;
    case change::gone:
      if (commit.change.why != cause::expired) {
        own.buffer->append(GoneRecord{
            .order = commit.change.order,
            .key = commit.key,
            .reason = commit.change.why == cause::evicted ? gone_reason::evicted : gone_reason::deleted});
      }
      return;
    case change::touched:
      own.buffer->append(TouchRecord{.order = commit.change.order,
                                     .key = commit.key,
                                     .expiry = as_recorded(commit.change.expiry, own, worker)});
      return;
    case change::range_gone:
    case change::range_touched:
      range(commit, own, worker);
      return;
    case change::flushed:
      if (commit.moment_us == 0) {
        own.buffer->append(FlushRecord{.order = commit.change.order});
      } else {
        own.buffer->append(FlushAtRecord{
            .order = commit.change.order, .point_us = commit.moment_us, .now_us = commit.set_us});
      }
      return;
    case change::part:
    case change::unseen:
      return;
  }
}

}  // namespace mxkv::server
