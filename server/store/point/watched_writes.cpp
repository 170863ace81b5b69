// Tells watchers of writes.
#include "server/store/point/write_operation.hpp"
#include "server/store/watch/watch_hub.hpp"

namespace mxkv::server {

using protocol::point_action;
using protocol::value_effect;

namespace {

std::string_view word_of(point_result result) noexcept {
  switch (result) {
    case point_result::exists:
      return "exists";
    case point_result::not_found:
      return "not_found";
    case point_result::no_memory:
      return "no_memory";
    case point_result::too_large:
      return "too_large";
    case point_result::not_stored:
    case point_result::non_numeric:
      return "not_stored";
    default:
      return "stored";
  }
}

}  // namespace

void WriteOperation::count_prefix(PrefixCounts& prefixes) const {
  if (request_.terms.action == point_action::store) {
    prefixes.count(key(), PrefixCounts::command::set);
  } else if (request_.terms.action == point_action::remove) {
    prefixes.count(key(), PrefixCounts::command::remove);
  }
}

// As memcached does, each command counts as a look-up first: fetchers see that.
void WriteOperation::tell_watchers(const Item* before, const Item* item, runtime::Worker& worker) const {
  WatchHub& hub = *worker.local<WorkerContext>().watch;
  if (hub.wants(watched::kFetchers)) {
    const bool stores = request_.terms.action == point_action::store;
    const bool found =
        before != nullptr &&
        (stores ? is_live(*before, worker) : decision_.result != point_result::not_found && !decision_.makes);
    const std::uint64_t size = found ? before->value_bytes() : 0;
    const bool reads = request_.terms.action == point_action::read && request_.shows_item();
    (hub.*(reads ? &WatchHub::fetched : &WatchHub::met))(worker, key(), found, size, descriptor_of(address_));
  }
  if (hub.counts_prefixes()) {
    count_prefix(hub.prefixes());
  }
  const std::uint64_t bytes = item == nullptr ? 0 : item->value_bytes();
  const std::string_view word = protocol::command_of(request_.op).word;
  switch (protocol::effect_of(request_.terms.action)) {
    case value_effect::removes:
      if (decision_.result == point_result::deleted) {
        hub.deleted(worker, key(), word, bytes, descriptor_of(address_));
      }
      return;
    case value_effect::none:
      return;
    case value_effect::stores:
      hub.stored(worker, key(), word_of(decision_.result), word, item == nullptr ? 0 : item->expiry(), bytes,
                 descriptor_of(address_));
  }
}

}  // namespace mxkv::server
