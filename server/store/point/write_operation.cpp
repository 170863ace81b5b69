#include "server/store/point/write_operation.hpp"

#include <algorithm>

#include "server/store/item/derived_items.hpp"
#include "server/store/item/expiry.hpp"
#include "server/store/store_state.hpp"

namespace mxkv::server {

using index::Decision;
using protocol::verb;

Decision WriteOperation::put(Item* item, result told) noexcept {
  puts_item_ = item == item_;
  if (!puts_item_) {
    built_ = item;
  }
  result_ = told;
  return {Decision::what::put, ItemRecord::word(item)};
}

Decision WriteOperation::leave(result told) noexcept {
  result_ = told;
  return {};
}

Decision WriteOperation::decide_other(bool live, Item* old, runtime::Worker& worker) {
  switch (request_.op) {
    case verb::remove:
      result_ = live ? result::deleted : result::not_found;
      return old != nullptr ? Decision{Decision::what::remove, 0} : Decision{};
    case verb::incr:
    case verb::decr:
      return decide_arithmetic(live, old, worker);
    case verb::touch:
    case verb::gat:
    case verb::gats:
      return decide_touch(live, old, worker);
    default:
      return {};
  }
}

Decision WriteOperation::decide_storage(bool live, Item* old, runtime::Worker& worker) {
  switch (request_.op) {
    case verb::add:
      return live ? leave(result::not_stored) : put(item_, result::stored);
    case verb::replace:
      return live ? put(item_, result::stored) : leave(result::not_stored);
    case verb::cas:
      if (!live) {
        return leave(result::not_found);
      }
      return old->unique() == request_.operand ? put(item_, result::stored) : leave(result::exists);
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

Decision WriteOperation::decide_arithmetic(bool live, Item* old, runtime::Worker& worker) {
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

Decision WriteOperation::decide_touch(bool live, Item* old, runtime::Worker& worker) {
  const result told = request_.op == verb::touch ? result::touched : result::value;
  if (!live) {
    return leave(result::not_found);
  }
  shown_ = old;
  old->note_access(worker.now_us());  // a new version takes it over
  const std::uint32_t expiry = expiry_from(static_cast<std::int64_t>(request_.operand), Moment{worker});
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

/// A touch leaves the version alone.
bool WriteOperation::keeps_version(const Item* old) const noexcept {
  return request_.op == verb::touch || request_.op == verb::gat || request_.op == verb::gats ||
         (request_.op == verb::meta_get && old != nullptr && !meta_->findings.made);
}

bool WriteOperation::change_in_place(Item& item, runtime::Worker& worker) noexcept {
  std::int64_t exptime = static_cast<std::int64_t>(request_.operand);
  if (meta_ != nullptr) {
    if (meta_->findings.won) {
      item.set_mark(Item::kWon);
    }
    if (!meta_->flags.has_exptime) {
      return false;
    }
    exptime = meta_->flags.exptime;
  }
  if (item.has_expiry_field()) {
    item.store_expiry(expiry_from(exptime, Moment{worker}));
  }
  return item.has_expiry_field();
}

}  // namespace mxkv::server
