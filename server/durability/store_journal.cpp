#include "server/durability/store_journal.hpp"

#include <array>
#include <cstring>

#include "index/key.hpp"
#include "runtime/base/paths.hpp"
#include "runtime/scheduler/worker.hpp"

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

/// The range of a commit as bounds; the end of a prefix is made in `end`.
RecordBounds bounds_of(const index::ChangedRange<std::string_view>& range,
                       std::array<char, index::kMaxKeyBytes>& end) noexcept {
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
    case index::far_end::prefix: {
      // The least key above all that begin so.
      std::string_view prefix = range.to;
      while (!prefix.empty() && prefix.back() == '\xFF') {
        prefix.remove_suffix(1);
      }
      bounds.has_no_end = prefix.empty();
      bounds.to_is_open = !prefix.empty();
      if (!prefix.empty()) {
        std::memcpy(end.data(), prefix.data(), prefix.size());
        ++end[prefix.size() - 1];
        bounds.to = {end.data(), prefix.size()};
      }
      break;
    }
  }
  return bounds;
}

}  // namespace

JournalBuffer& StoreJournal::buffer(runtime::Worker& worker) noexcept {
  return *buffers_[worker.id().index()];
}

PutRecord StoreJournal::record_of(const Item& item) noexcept {
  const Item::View view{item};
  return {.order = item.cas(),
          .key = view.key(),
          .value = view.large() ? std::string_view{} : view.value(),
          .apart_bytes = view.large() ? view.value_bytes() : 0,
          .unique = item.has_unique_field() ? item.unique() : 0,
          .flags = view.flags(),
          .expiry = view.expiry(),
          .marks = static_cast<std::uint8_t>(item.marks()),
          .has_unique = item.has_unique_field()};
}

ApartValue StoreJournal::apart_of(const Item& item) noexcept {
  ChunkList* const list = item.list();
  list->reference();
  return {.owner = list, .of = &kListOfChunks, .bytes = list->bytes()};
}

void StoreJournal::put(const Item& item, JournalBuffer& buffer) noexcept {
  const PutRecord record = record_of(item);
  if (record.apart_bytes != 0) [[unlikely]] {
    buffer.put_apart(record, apart_of(item));
  } else {
    buffer.append(record);
  }
}

void StoreJournal::range(const Commit& commit, JournalBuffer& buffer) noexcept {
  std::array<char, index::kMaxKeyBytes> end;
  const RecordBounds bounds = bounds_of(*commit.range, end);
  if (commit.change.what == change::range_gone) {
    buffer.append(RangeGoneRecord{.order = commit.change.order, .bounds = bounds});
  } else {
    buffer.append(RangeTouchRecord{.order = commit.change.order,
                                   .bounds = bounds,
                                   .moment_us = commit.moment_us,
                                   .expiry = static_cast<std::uint32_t>(commit.value)});
  }
}

void StoreJournal::passed(const Commit& commit, runtime::Worker& worker) noexcept {
  JournalBuffer& own = buffer(worker);
  switch (commit.change.what) {
    case change::put:
      put(*ItemRecord::item(commit.value), own);
      return;
    case change::gone:
      if (commit.change.why != cause::expired) {
        own.append(GoneRecord{
            .order = commit.change.order,
            .key = commit.key,
            .reason = commit.change.why == cause::evicted ? gone_reason::evicted : gone_reason::deleted});
      }
      return;
    case change::touched:
      own.append(
          TouchRecord{.order = commit.change.order, .key = commit.key, .expiry = commit.change.expiry});
      return;
    case change::range_gone:
    case change::range_touched:
      range(commit, own);
      return;
    case change::flushed:
      if (commit.moment_us == 0) {
        own.append(FlushRecord{.order = commit.change.order});
      } else {
        own.append(FlushAtRecord{
            .order = commit.change.order, .point_us = commit.moment_us, .now_us = commit.set_us});
      }
      return;
    case change::part:
    case change::unseen:
      return;
  }
}

}  // namespace mxkv::server
