#include "server/store/batch/batch.hpp"

#include <numeric>
#include <utility>

#include "protocol/reply.hpp"
#include "server/store/core/item_counts.hpp"
#include "server/store/item/derived_items.hpp"
#include "server/store/locks/key_partition.hpp"
#include "server/store/point/text_reply.hpp"
#include "server/store/watch/watch_hub.hpp"

namespace mxkv::server {

using index::Decision;
using protocol::point_action;

BatchLine* BatchLine::create(runtime::Worker& worker, const protocol::PointRequest& request, Item* sent) {
  static_assert(sizeof(BatchLine) + sizeof(MetaWrite) + protocol::kMaxKeyBytes <= runtime::kLargestTaskBytes);
  const std::size_t bytes = sizeof(BatchLine) + bytes_behind(request);
  return new (worker.allocate_block(runtime::task_block_for(bytes))) BatchLine(request, sent, bytes);
}

void BatchLine::destroy(runtime::Worker& worker, BatchLine* line) noexcept {
  line->drop_items(worker);
  worker.release_block(line, line->block_);
}

bool BatchLine::may_make_item() const noexcept {
  return request_.terms.action == point_action::store || request_.vivifies();
}

bool BatchLine::decide(BatchKey& key, const Liveness& live, runtime::Worker& worker) {
  MXKV_ASSERT(key.maker == nullptr || key.current != nullptr,
              "a line that is a key's maker has made its item");
  drop_built(worker);
  Item* const old = key.current;
  met_ = old;
  const Decision decision = decide_client(old != nullptr && live(Item::View{*old}), old, worker);
  Item* made = nullptr;
  switch (decision.action) {
    case Decision::what::remove:
      key.current = nullptr;
      key.maker = nullptr;
      key.removed = true;
      return !failed();
    case Decision::what::put:
      made = ItemRecord::item(decision.value);
      break;
    case Decision::what::in_place:
      // The line changes a copy until all lines are known to succeed.
      made = built_ = with_expiry(worker, *old, old->expiry());
      if (made == nullptr) {
        set_lacks_memory();
        return false;
      }
      change_in_place(*made);
      break;
    default:
      return !failed();
  }
  if (keeps_version(old)) {
    made->take_version(*old);
  } else {
    if (old != nullptr) {
      made->keep_reads(*old);
    }
    key.order = mint(*made, key.order, worker);
  }
  shown_ = made;
  key.current = made;
  key.maker = this;
  return !failed();
}

bool BatchLine::failed() const noexcept {
  switch (decision_.result) {
    case point_result::not_stored:
    case point_result::exists:
    case point_result::non_numeric:
    case point_result::no_memory:
    case point_result::too_large:
      return true;
    case point_result::not_found:  // a read or a delete of a missing key has not failed
      return request_.terms.action != point_action::read &&
             (request_.terms.action != point_action::remove || request_.terms.compares);
    default:
      return false;
  }
}

std::size_t BatchLine::reply_bytes() const noexcept {
  constexpr std::size_t kCode = 16;
  constexpr std::size_t kFlag = 24;  // the longest flag other than the key
  constexpr std::size_t kKey = 4 * (protocol::kMaxKeyBytes + 2) / 3 + 4;
  const std::size_t line = kCode + kFlag * meta_->flags.wants().size() +
                           (meta_->flags.wants().find('k') == std::string_view::npos ? 0 : kKey) +
                           meta_->flags.opaque().size();
  const Item* const item = shown_ != nullptr ? shown_ : met_;
  const bool copies = meta_->flags.value && item != nullptr && !item->large();
  return line + (copies ? item->value().size() : 0);
}

std::string_view BatchLine::failure() const noexcept {
  MXKV_DCHECK(failed(), "a line that was done has no failure");
  const protocol::ReplyCodeRow& row = protocol::row_of(decision_.result);
  return row.meta.empty() ? row.text : row.meta;
}

void BatchLine::answer(ReplyQueue* queue, std::uint32_t ticket, runtime::Worker& worker) {
  auto& context = worker.local<WorkerContext>();
  context.counters.count(counter::cmd_meta);
  count(worker, decision_.result != point_result::not_found);
  if (puts_sent()) {
    context.counters.count(counter::total_items);
    count_of_quota(context, key(), quota_count::sets);
  }
  if (context.watch->wants(~0U)) [[unlikely]] {
    tell_watchers(met_, shown_ != nullptr ? shown_ : met_, worker);
  }
  answer_client(queue, ticket, worker);
}

void Batch::add(runtime::Worker& worker, const protocol::PointRequest& request, ItemBuilder* value) {
  MXKV_DCHECK(lines_to_come_ > 0, "a batch has as many lines as it announced");
  lines_.push_back(BatchLine::create(worker, request, value != nullptr ? value->take() : nullptr));
  --lines_to_come_;
  ++lines_come_;
}

void Batch::fail(runtime::Worker& worker, std::string_view text) {
  MXKV_ASSERT(lines_to_come_ > 0, "a batch has as many lines as it announced");
  --lines_to_come_;
  note_failure(++lines_come_, text);
  abandon(worker);
}

void Batch::note_failure(std::size_t line, std::string_view text) {
  MXKV_ASSERT(line > 0, "lines are counted from one");
  if (!failed()) {
    failed_line_ = line;
    failure_ = text.substr(0, text.find('\r'));
  }
}

void Batch::set_lacked_memory() noexcept {
  lacked_memory_ = true;
  note_failure(lines_.size(), protocol::kOutOfMemory);
}

void Batch::refuse_changes(std::string_view text) {
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    if (!lines_[i]->only_reads()) {
      note_failure(i + 1, text);
      return;
    }
  }
}

void Batch::mind_quotas(const Quotas& quotas, const QuotaTally& tally) noexcept {
  for (BatchLine* const line : lines_) {
    if (quotas.may_refuse(line->key(), tally)) {
      line->mind_quota();
    }
  }
}

std::size_t Batch::reply_bytes() const noexcept {
  std::size_t bytes = 0;
  for (const BatchLine* const line : lines_) {
    bytes += line->reply_bytes();
  }
  return bytes;
}

void Batch::abandon(runtime::Worker& worker) noexcept {
  for (BatchLine* const line : lines_) {
    BatchLine::destroy(worker, line);
  }
  lines_.clear();
}

void Batch::group_by_key() {
  MXKV_ASSERT(keys_.empty() && lines_to_come_ == 0, "lines are grouped once, when all have come");
  std::vector<std::uint32_t> order(lines_.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [this](std::uint32_t one, std::uint32_t other) {
    const int compared = lines_[one]->key().compare(lines_[other]->key());
    return compared != 0 ? compared < 0 : one < other;
  });
  key_of_.resize(lines_.size());
  for (const std::uint32_t line : order) {
    if (keys_.empty() || keys_.back().name != lines_[line]->key()) {
      keys_.emplace_back().name = lines_[line]->key();
    }
    keys_.back().may_be_made = keys_.back().may_be_made || lines_[line]->may_make_item();
    key_of_[line] = static_cast<std::uint32_t>(keys_.size() - 1);
  }
}

bool Batch::decide(const Liveness& live, runtime::Worker& worker) {
  MXKV_ASSERT(key_of_.size() == lines_.size(), "each line has its key");
  // One order rule for the batch: each order in it is above all earlier orders of all its keys. A reader of the log
  // that places a batch by its least order then finds it behind the earlier changes of each key, and of two batches
  // that share a key the earlier one first.
  std::uint64_t greatest = 0;
  for (const BatchKey& key : keys_) {
    greatest = std::max(greatest, key.order);
  }
  for (BatchKey& key : keys_) {
    key.order = greatest;
  }
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    if (!lines_[i]->decide(keys_[key_of_[i]], live, worker)) {
      lacked_memory_ = lines_[i]->lacked_memory();
      if (lines_[i]->over_quota()) {
        count_of_quota(worker.local<WorkerContext>(), lines_[i]->key(), quota_count::refused);
      }
      note_failure(i + 1, lines_[i]->failure());
      return false;
    }
  }
  return true;
}

namespace {

/// The change of a key for the commit point. Its order is above key.order: lines have shown cas values up to that,
/// also for items that later lines removed. So a key that is absent afterwards is deleted, even if no client could
/// get an item of it before: without a record the next process, or owner, would mint the shown values again.
index::Change change_of(const BatchKey& key, runtime::Worker& worker) noexcept {
  using index::Change;
  if (key.maker == nullptr) {
    return Change::gone(index::cause::deleted, next_order(key.order, worker));
  }
  const Item& put = *key.current;
  if (key.found == nullptr || put.order() != key.found->order()) {
    return Change::put(put.order());
  }
  return put.expiry() == key.found->expiry()
             ? Change::unseen()  // only the mark of the client that won it
             : Change::touched(next_order(key.order, worker), put.expiry(), put.marks());
}

}  // namespace

// The batch holds its keys, so nothing else changes them before their BatchKeyTasks commit.
void Batch::pass(index::CommitPoint<std::string_view>& commits, runtime::Worker& worker) {
  index::CommitGroup<std::string_view> group = commits.group(worker);
  for (BatchKey& key : keys_) {
    if (!key.changed()) {
      continue;
    }
    const index::Change change = change_of(key, worker);
    key.part = change;
    if (change.what == index::change::unseen) {
      continue;
    }
    key.part = index::Change::part(change.what == index::change::put ? 0 : change.order);
    group.pass({.change = change,
                .key = key.name,
                .value = key.maker != nullptr ? ItemRecord::word(key.current) : 0,
                .old = key.found != nullptr ? ItemRecord::word(key.found) : 0});
  }
}

void Batch::forget(runtime::Worker& worker) noexcept {
  for (BatchLine* const line : lines_) {
    line->forget(worker);
  }
  for (BatchKey& key : keys_) {
    key.found = nullptr;
    key.current = nullptr;
    key.maker = nullptr;
    key.removed = false;
  }
  failed_line_ = 0;
  lacked_memory_ = false;
}

void Batch::answer(ReplyQueue* queue, std::uint32_t ticket, runtime::Worker& worker) {
  auto& counters = worker.local<WorkerContext>().counters;
  counters.count(counter::cmd_batch);
  if (!failed()) {
    for (BatchLine* const line : lines_) {
      line->answer(queue, ticket, worker);
    }
    if (queue != nullptr) {
      queue->append(ticket, protocol::kMetaDone);
    }
    return;
  }
  counters.count(counter::batch_failures);
  if (queue != nullptr) {
    queue->append(ticket, "EX " + std::to_string(failed_line_) + " " + failure_ + "\r\n");
  }
}

runtime::SlotSet Batch::place(const KeyPartition& slots) {
  slots_.clear();
  std::uint64_t parts = 0;
  for (const BatchKey& key : keys_) {
    const std::uint32_t slot = slots.slot_of(key.name);
    if (slots_.empty() || slots_.back() != slot) {
      slots_.push_back(slot);
      parts |= slots.parts().bit_of(slot);
    }
  }
  MXKV_ASSERT(!slots_.empty(), "a batch that is placed has keys");
  MXKV_DCHECK(std::is_sorted(slots_.begin(), slots_.end()), "slots are in the order of their keys");
  return {{slots_.front(), slots_.back()}, parts};
}

}  // namespace mxkv::server
