// What a WriteOperation counts and answers when it is done.
#include "protocol/reply.hpp"
#include "server/store/item/value_reply.hpp"
#include "server/store/point/write_operation.hpp"
#include "server/store/store_state.hpp"

namespace mxkv::server {

using protocol::verb;

void WriteOperation::count(runtime::Worker& worker, bool found) {
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
    case verb::meta_delete:
      counters.count(result_ == result::deleted ? counter::delete_hits : counter::delete_misses);
      return;
    case verb::meta_arithmetic: {
      const bool down = meta_->flags.mode == 'D';
      counters.count(found ? (down ? counter::decr_hits : counter::incr_hits)
                           : (down ? counter::decr_misses : counter::incr_misses));
      return;
    }
    case verb::meta_get:
      if (meta_->flags.has_exptime) {
        counters.count(counter::cmd_touch);
        counters.count(found ? counter::touch_hits : counter::touch_misses);
      } else {
        counters.count(counter::cmd_get);
        counters.count(found ? counter::get_hits : counter::get_misses);
      }
      return;
    default:
      count_storage(worker, found);
  }
}

void WriteOperation::count_storage(runtime::Worker& worker, bool found) {
  auto& counters = worker.local<WorkerContext>().counters;
  if (request_.op == verb::cas || (meta_ != nullptr && meta_->flags.has_compare)) {
    counters.count(!found                      ? counter::cas_misses
                   : result_ == result::exists ? counter::cas_badval
                                               : counter::cas_hits);
  }
  counters.count(counter::cmd_set);
  if (result_ == result::no_memory) {
    counters.count(counter::store_no_memory);
  }
}

void WriteOperation::write_reply(ReplyQueue& queue, runtime::Worker& worker) {
  const bool told_by_text =
      result_ == result::non_numeric || result_ == result::no_memory || result_ == result::too_large;
  if (meta_ != nullptr && !told_by_text) {
    write_meta_reply(queue, worker);
    return;
  }
  const bool retrieval = request_.op == verb::gat || request_.op == verb::gats;
  const ReplyForm form{request_.op == verb::gats, request_.end_line};
  // An error among the values of several keys would look like the end of the reply.
  const bool left_out = result_ == result::not_found || (result_ == result::no_memory && !form.end_line);
  if (retrieval && (result_ == result::value || left_out)) {
    if (result_ == result::value) {
      write_value(queue, address_.ticket, shown_->key(), Item::View{*shown_}, form, worker);
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

}  // namespace mxkv::server
