#include "server/store/write_task.hpp"

#include <algorithm>

#include "protocol/reply.hpp"
#include "server/store/derived_items.hpp"
#include "server/store/expiry.hpp"
#include "server/store/store.hpp"
#include "server/store/value_reply.hpp"

namespace mxkv::server {

using index::Decision;
using protocol::verb;
using runtime::step;

namespace {

/// A cas unique stays exact in a double, for clients that keep it in one.
constexpr std::uint64_t kGreatestCas = (std::uint64_t{1} << 53U) - 1;

runtime::ReclaimKind item_kind(runtime::Worker& worker) {
  return worker.local<WorkerContext>().store->item_kind();
}

}  // namespace

bool WriteTask::is_turn(runtime::Worker& worker) const noexcept {
  return request_.anonymous || !request_.in_order || !is_home(worker) ||
         worker.local<WorkerContext>().replies->commit_turn(address_, request_.seq);
}

unsigned WriteTask::record_lines(std::uint64_t word) const noexcept {
  switch (request_.op) {
    case verb::set:
    case verb::add:
    case verb::replace:
    case verb::cas:
    case verb::remove:
      return ItemRecord::key_lines(word, key_bytes_);
    default:
      return ItemRecord::lines(word);
  }
}

void WriteTask::begin(runtime::Worker& worker) {
  if (tree().options().leaves == runtime::primitive::optimistic_scheduling && !is_turn(worker)) {
    wait_for_turn(worker);
    return;
  }
  start(worker);
}

void WriteTask::wait_for_turn(runtime::Worker& worker) {
  leave_tree(*this);
  phase_ = phase::waiting;
  worker.local<WorkerContext>().replies->await_commit(address_, request_.seq, this);
}

Decision WriteTask::put(Item* item, result told) noexcept {
  puts_item_ = item == item_;
  if (!puts_item_) {
    built_ = item;
  }
  result_ = told;
  return {Decision::what::put, ItemRecord::word(item)};
}

Decision WriteTask::leave(result told) noexcept {
  result_ = told;
  return {};
}

void WriteTask::drop_built(runtime::Worker& worker) noexcept {
  if (built_ != nullptr) {
    Item::destroy(worker, std::exchange(built_, nullptr));
  }
}

Decision WriteTask::decide(bool found, std::uint64_t old_word, runtime::Worker& worker) {
  if (!is_turn(worker)) {
    // It keeps its pin and its place at the leaf: it waits only for writes that run already, never for a
    // client.
    annotate(runtime::priority::high);  // when its turn comes, others may wait for it already
    worker.local<WorkerContext>().replies->await_commit(address_, request_.seq, this);
    return {Decision::what::wait, 0};
  }
  drop_built(worker);
  Item* old = found ? ItemRecord::item(old_word) : nullptr;
  const bool live = old != nullptr && is_live(*old, worker);
  switch (request_.op) {
    case verb::remove:
      if (request_.anonymous && live) {
        return leave(result::not_found);  // it was to go because it had expired, and came back since
      }
      result_ = live ? result::deleted : result::not_found;
      return found ? Decision{Decision::what::remove, 0} : Decision{};
    case verb::incr:
    case verb::decr:
      return decide_arithmetic(live, old, worker);
    case verb::touch:
    case verb::gat:
    case verb::gats:
      return decide_touch(live, old, worker);
    default:
      return decide_storage(live, old, worker);
  }
}

Decision WriteTask::decide_storage(bool live, Item* old, runtime::Worker& worker) {
  switch (request_.op) {
    case verb::add:
      return live ? leave(result::not_stored) : put(item_, result::stored);
    case verb::replace:
      return live ? put(item_, result::stored) : leave(result::not_stored);
    case verb::cas:
      if (!live) {
        return leave(result::not_found);
      }
      return old->cas() == request_.operand ? put(item_, result::stored) : leave(result::exists);
    case verb::append:
    case verb::prepend: {
      if (!live) {
        return leave(result::not_stored);
      }
      if (old->value_bytes() + item_->value_bytes() > worker.local<WorkerContext>().store->value_limit()) {
        return leave(result::too_large);
      }
      Item* joined = request_.op == verb::append ? join_values(worker, *old, *old, *item_)
                                                 : join_values(worker, *old, *item_, *old);
      return joined == nullptr ? leave(result::no_memory) : put(joined, result::stored);
    }
    default:
      return put(item_, result::stored);
  }
}

Decision WriteTask::decide_arithmetic(bool live, Item* old, runtime::Worker& worker) {
  if (!live) {
    return leave(result::not_found);
  }
  std::uint64_t number = 0;
  if (!read_number(*old, number)) {
    return leave(result::non_numeric);
  }
  const std::uint64_t delta = request_.operand;
  number = request_.op == verb::incr ? number + delta : (number > delta ? number - delta : 0);
  number_ = number;
  char text[protocol::kMaxDigits];
  const char* end = protocol::write_number(text, number);
  Item* changed = with_value(worker, *old, {text, static_cast<std::size_t>(end - text)});
  return changed == nullptr ? leave(result::no_memory) : put(changed, result::number);
}

Decision WriteTask::decide_touch(bool live, Item* old, runtime::Worker& worker) {
  const result told = request_.op == verb::touch ? result::touched : result::value;
  if (!live) {
    return leave(result::not_found);
  }
  shown_ = old;
  const std::uint32_t expiry = expiry_from(static_cast<std::int64_t>(request_.operand), worker.now_us());
  if (expiry == old->expiry()) {
    return leave(told);
  }
  result_ = told;
  if (old->has_expiry_field()) {
    return {Decision::what::in_place, 0};
  }
  Item* changed = with_expiry(worker, *old, expiry);
  return changed == nullptr ? leave(result::no_memory) : put(changed, told);
}

// Under the leaf's latch: nothing here can fail, allocate or wait.
void WriteTask::commit(ItemNode& leaf, bool found, std::uint64_t old_word, std::uint64_t value,
                       runtime::Worker& worker) noexcept {
  Item* old = found ? ItemRecord::item(old_word) : nullptr;
  if (value == 0) {
    if (request_.op == verb::remove) {
      leaf.raise_cas_floor(old->cas());
    } else {
      old->store_expiry(expiry_from(static_cast<std::int64_t>(request_.operand), worker.now_us()));
    }
    return;
  }
  Item* item = ItemRecord::item(value);
  if (request_.op == verb::touch || request_.op == verb::gat || request_.op == verb::gats) {
    item->set_cas(old->cas());  // a touch leaves the cas unique alone
    return;
  }
  const std::uint64_t before = std::max({found ? old->cas() : 0, leaf.cas_floor(), worker.now_us()});
  item->set_cas(std::min(before + 1, kGreatestCas));
  auto& greatest = worker.local<WorkerContext>().greatest_cas;
  if (item->cas() > greatest.load(std::memory_order_relaxed)) {
    greatest.store(item->cas(), std::memory_order_relaxed);
  }
}

step WriteTask::committed(bool found, std::uint64_t old_word, runtime::Worker& worker) {
  auto& counters = worker.local<WorkerContext>().counters;
  Item* added = nullptr;
  const bool in_place = request_.op != verb::remove && built_ == nullptr && !puts_item_;
  if (!in_place && request_.op != verb::remove) {
    added = puts_item_ ? std::exchange(item_, nullptr) : std::exchange(built_, nullptr);
    counters.count(counter::items_added);
    counters.count(counter::bytes_added, added->memory_bytes());
    if (puts_item_) {
      counters.count(counter::total_items);
    }
    if (shown_ != nullptr) {
      shown_ = added;
    }
  }
  if (found && !in_place) {
    Item* old = ItemRecord::item(old_word);
    const std::size_t bytes = old->memory_bytes();
    counters.count(counter::items_removed);
    counters.count(counter::bytes_removed, bytes);
    worker.retire(old, item_kind(worker), bytes);
  }
  count(worker, result_ != result::not_found);
  return answer(worker);
}

step WriteTask::left(bool /*found*/, std::uint64_t /*old*/, runtime::Worker& worker) {
  drop_built(worker);
  count(worker, result_ != result::not_found && result_ != result::not_stored);
  return answer(worker);
}

step WriteTask::out_of_memory(runtime::Worker& worker) {
  drop_built(worker);
  result_ = result::no_memory;
  worker.local<WorkerContext>().counters.count(counter::store_no_memory);
  return answer(worker);
}

void WriteTask::count(runtime::Worker& worker, bool found) {
  if (request_.anonymous) {
    return;
  }
  auto& counters = worker.local<WorkerContext>().counters;
  switch (request_.op) {
    case verb::remove:
      counters.count(found ? counter::delete_hits : counter::delete_misses);
      return;
    case verb::incr:
      counters.count(found ? counter::incr_hits : counter::incr_misses);
      return;
    case verb::decr:
      counters.count(found ? counter::decr_hits : counter::decr_misses);
      return;
    case verb::gat:
    case verb::gats:
      counters.count(counter::cmd_get);
      counters.count(found ? counter::get_hits : counter::get_misses);
      [[fallthrough]];
    case verb::touch:
      counters.count(counter::cmd_touch);
      counters.count(found ? counter::touch_hits : counter::touch_misses);
      return;
    case verb::cas:
      counters.count(!found                      ? counter::cas_misses
                     : result_ == result::exists ? counter::cas_badval
                                                 : counter::cas_hits);
      [[fallthrough]];
    default:
      counters.count(counter::cmd_set);
      if (result_ == result::no_memory) {
        counters.count(counter::store_no_memory);
      }
  }
}

step WriteTask::answer(runtime::Worker& worker) {
  if (!is_home(worker)) {
    phase_ = phase::answering;
    return go_home(*this, address_);
  }
  if (request_.anonymous) {
    return step::done;
  }
  auto& replies = *worker.local<WorkerContext>().replies;
  if (ReplyQueue* queue = replies.find(address_)) {
    write_reply(*queue, worker);
    queue->close(address_.ticket);
  }
  if (item_ != nullptr) {
    Item::destroy(worker, std::exchange(item_, nullptr));
  }
  worker.unpin(*this);
  if (request_.in_order) {
    replies.finished_write(address_, request_.seq);
  } else {
    replies.finished(address_);
  }
  return step::done;
}

void WriteTask::write_reply(ReplyQueue& queue, runtime::Worker& worker) {
  const bool retrieval = request_.op == verb::gat || request_.op == verb::gats;
  const ReplyForm form{request_.op == verb::gats, request_.end_line};
  if (retrieval && (result_ == result::value || result_ == result::not_found)) {
    if (result_ == result::value) {
      write_value(queue, address_.ticket, *shown_, form, worker);
    } else {
      write_miss(queue, address_.ticket, form);
    }
    return;
  }
  if (result_ == result::number) {
    char* out = queue.reserve(address_.ticket, protocol::kMaxDigits + protocol::kCrLf.size());
    out = protocol::write_number(out, number_);
    queue.commit(address_.ticket, protocol::write_text(out, protocol::kCrLf));
    return;
  }
  std::string_view text = protocol::kStored;
  switch (result_) {
    case result::not_stored:
      text = protocol::kNotStored;
      break;
    case result::exists:
      text = protocol::kExists;
      break;
    case result::not_found:
      text = protocol::kNotFound;
      break;
    case result::deleted:
      text = protocol::kDeleted;
      break;
    case result::touched:
      text = protocol::kTouched;
      break;
    case result::non_numeric:
      text = protocol::kNonNumeric;
      break;
    case result::no_memory:
      text = protocol::kOutOfMemory;
      break;
    case result::too_large:
      text = protocol::kTooLarge;
      break;
    case result::stored:
    case result::number:
    case result::value:
      break;
  }
  char* out = queue.reserve(address_.ticket, text.size());
  queue.commit(address_.ticket, protocol::write_text(out, text));
}

step WriteTask::resume_item(runtime::Worker& worker) {
  switch (phase_) {
    case phase::searching:
      break;
    case phase::waiting:
      phase_ = phase::searching;
      worker.pin(*this);
      return restart(false);
    case phase::answering:
      return answer(worker);
  }
  return Base::resume_item(worker);
}

void WriteTask::discard(runtime::Worker& worker) {
  drop_built(worker);
  if (item_ != nullptr) {
    Item::destroy(worker, std::exchange(item_, nullptr));
  }
}

}  // namespace mxkv::server
