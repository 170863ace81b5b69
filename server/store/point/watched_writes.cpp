// What those who watch are told of writes.
#include "server/store/point/write_operation.hpp"
#include "server/store/watch/watch_hub.hpp"

namespace mxkv::server {

using protocol::verb;

namespace {

std::string_view command_name(verb op) noexcept {
  switch (op) {
    case verb::add:
      return "add";
    case verb::replace:
      return "replace";
    case verb::append:
      return "append";
    case verb::prepend:
      return "prepend";
    case verb::cas:
      return "cas";
    case verb::incr:
      return "incr";
    case verb::decr:
      return "decr";
    case verb::remove:
      return "delete";
    case verb::meta_set:
      return "ms";
    case verb::meta_delete:
      return "md";
    case verb::meta_arithmetic:
      return "ma";
    default:
      return "set";
  }
}

}  // namespace

void WriteOperation::tell_watchers(const Item* item, runtime::Worker& worker) const {
  WatchHub& hub = *worker.local<WorkerContext>().watch;
  const std::uint64_t bytes = item == nullptr ? 0 : item->value_bytes();
  switch (request_.op) {
    case verb::remove:
    case verb::meta_delete:
      if (result_ == result::deleted) {
        hub.deleted(worker, key(), command_name(request_.op), bytes);
      }
      return;
    case verb::gat:
    case verb::gats:
    case verb::meta_get:
      hub.fetched(worker, key(), result_ != result::not_found, bytes);
      return;
    case verb::touch:
      return;
    default:
      break;
  }
  std::string_view status = "stored";
  switch (result_) {
    case result::exists:
      status = "exists";
      break;
    case result::not_found:
      status = "not_found";
      break;
    case result::no_memory:
      status = "no_memory";
      break;
    case result::too_large:
      status = "too_large";
      break;
    case result::not_stored:
    case result::non_numeric:
      status = "not_stored";
      break;
    default:
      break;
  }
  hub.stored(worker, key(), status, command_name(request_.op), item == nullptr ? 0 : item->expiry(), bytes);
}

}  // namespace mxkv::server
