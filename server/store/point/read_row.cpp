#include "server/store/point/read_row.hpp"

#include "protocol/reply.hpp"
#include "runtime/base/paths.hpp"
#include "server/reply/connection_table.hpp"
#include "server/store/core/visibility.hpp"
#include "server/store/item/value_reply.hpp"
#include "server/store/watch/watch_hub.hpp"

namespace mxkv::server {

namespace {

/// The reply to a read that is no usual hit; null: there is no room, or a task has to answer.
[[gnu::noinline]] char* write_rarer(char* out, const char* limit, const protocol::AskedKey& key, Item& item,
                                    bool with_cas, const Liveness& live) {
  const Item::View view{item};
  if (view.large() || static_cast<std::size_t>(limit - out) < kAroundValue + view.inline_length() ||
      !live(view) || (key.meta() && item.to_be_renewed())) [[unlikely]] {
    return nullptr;
  }
  if (!key.meta()) {
    return write_inline_value(out, view.key(), view, {.with_cas = with_cas, .end_line = key.ends_line()});
  }
  if (view.plain() && view.inline_length() <= kMostMiddling) {
    return write_plain_meta_value(out, Item::PlainView{item});
  }
  out = protocol::write_number(protocol::write_text(out, kMetaValue), view.inline_length());
  out = protocol::write_short_text(protocol::write_text(out, protocol::kCrLf), view.value());
  return protocol::write_text(out, protocol::kCrLf);
}

}  // namespace

bool ReadRow::may_read(runtime::Worker& worker) noexcept {
  auto& context = worker.local<WorkerContext>();
  return worker.takes_fast_paths() && !context.minds_horizon() && !context.watch->wants(watched::kFetchers);
}

ReadRow::ReadRow(const ItemTree& tree, std::span<const protocol::AskedKey> keys) noexcept : keys_(keys) {
  size_ = walk_.look_up(tree, keys.size(), [keys](std::size_t i) { return keys[i].view(); });
}

std::size_t ReadRow::answer(bool with_cas, const ReplyAddress& first, runtime::Worker& worker) {
  ConnectionTable& replies = *worker.local<WorkerContext>().replies;
  ReplyAddress address = first;
  std::size_t answered = 0;
  while (answered < size_) {
    address.ticket = first.ticket + static_cast<std::uint32_t>(answered);
    // No read of a row has to wait for the disk: may_read().
    const std::span<char> room = replies.reserve_row(address, Seen::data(false), room_for(answered));
    if (room.empty()) {
      break;
    }
    char* out = room.data();
    const std::size_t written = write(answered, with_cas, out, room.data() + room.size(), worker);
    replies.close_row(address, static_cast<std::uint32_t>(written), out);
    if (written == 0) {
      break;
    }
    answered += written;
  }
  if (answered != 0) {
    MXKV_PATH(get_row);
    replies.finished_row(first, static_cast<std::uint32_t>(answered));
  }
  return answered;
}

std::size_t ReadRow::write(std::size_t from, bool with_cas, char*& out, const char* limit,
                           runtime::Worker& worker) const {
  const Liveness live{worker};
  const std::uint64_t now_us = worker.now_us();
  const int usual = with_cas ? -1 : static_cast<int>(protocol::asked::last);  // forms up to this one
  char* end = out;
  std::size_t misses = 0;
  std::size_t meta = 0;
  std::size_t i = from;
  for (; i < size_; ++i) {
    const protocol::AskedKey& key = keys_[i];
    const std::uint64_t word = walk_.found(i);
    if (word == 0) [[unlikely]] {
      if (static_cast<std::size_t>(limit - end) < kAroundValue) {
        break;
      }
      if (key.ends_line()) {
        end = protocol::write_text(end, key.meta() ? protocol::kMetaMiss : protocol::kEnd);
      }
      ++misses;
      meta += key.meta() ? 1 : 0;
      continue;
    }
    Item& item = *ItemRecord::item(word);
    const Item::View view{item};
    const std::size_t bytes = view.inline_length();
    if (!view.plain() || static_cast<int>(key.how) > usual || bytes > kMostMiddling ||
        static_cast<std::size_t>(limit - end) < kAroundValue + bytes) [[unlikely]] {
      char* const next = write_rarer(end, limit, key, item, with_cas, live);
      if (next == nullptr) {
        break;
      }
      item.note_access(now_us);
      meta += key.meta() ? 1 : 0;
      end = next;
      continue;
    }
    const Item::PlainView plain{item, view};
    if (!live(plain)) [[unlikely]] {
      break;
    }
    plain.note_access(now_us);
    end = write_plain_value(end, plain, key.ends_line());
  }
  out = end;
  StoreCounters& counters = worker.local<WorkerContext>().counters;
  counters.count(counter::get_hits, i - from - misses);
  counters.count(counter::get_misses, misses);
  counters.count(counter::cmd_meta, meta);
  worker.count_ended(i - from);
  return i - from;
}

std::size_t ReadRow::room_for(std::size_t i) const noexcept {
  const std::uint64_t word = walk_.found(i);
  return kAroundValue + (word == 0 ? 0 : Item::View{*ItemRecord::item(word)}.inline_length());
}

}  // namespace mxkv::server
