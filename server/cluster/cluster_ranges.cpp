// ClusterStore's functions: ranges.
//
// The node that has a page's beginning reads it. The page ends where the row of shards that this node has
// ends, if not before. Then it has a cursor, even if it found nothing. So a client that follows cursors
// reaches all keys of all nodes.
#include <algorithm>
#include <utility>

#include "protocol/request_writer.hpp"
#include "server/cluster/cluster_prefixes.hpp"
#include "server/cluster/cluster_store.hpp"
#include "server/cluster/key_bounds.hpp"
#include "server/cluster/refusal.hpp"
#include "server/store/store.hpp"

namespace mxkv::server {

ClusterStore::Span ClusterStore::span_of(const protocol::RangeRequest& range) const noexcept {
  KeyRoom room;
  Span span{0, routes_.shards() - 1};
  if (!range.low.unbounded) {
    const std::string_view least = range.low.inclusive ? range.low.key : behind_key(range.low.key, room);
    span.first = least.empty() ? routes_.shards() - 1 : routes_.shard_of(least);
  } else if (range.by_prefix && !range.prefix.empty()) {
    span.first = routes_.shard_of(range.prefix);
  }
  if (!range.high.unbounded) {
    span.last =
        range.high.inclusive ? routes_.shard_of(range.high.key) : shard_below(routes_, range.high.key);
  } else if (range.by_prefix) {
    const std::string_view end = behind_prefix(range.prefix, room);
    span.last = end.empty() ? span.last : shard_below(routes_, end);
  }
  span.last = std::max(span.first, span.last);  // an empty range lies where it begins
  return span;
}

std::uint32_t ClusterStore::readable_to(const Span& span, bool reverse, const ReplyAddress& address,
                                        std::uint64_t now_ns) const noexcept {
  std::uint32_t at = reverse ? span.last : span.first;
  while (at != (reverse ? span.first : span.last) &&
         is_readable(address, reverse ? at - 1 : at + 1, now_ns)) {
    at = reverse ? at - 1 : at + 1;
  }
  return at;
}

void ClusterStore::range(runtime::Worker& worker, const protocol::Request& request,
                         const ReplyAddress& address) {
  const std::uint64_t now_ns = clock_.monotonic_ns();
  const Span span = span_of(request.range);
  if (protocol::changes_range(request.op) || request.op == protocol::verb::meta_count) {
    whole_range(worker, request, span, address, now_ns);
    return;
  }
  const std::uint32_t first = request.range.reverse ? span.last : span.first;
  if (is_readable(address, first, now_ns)) {
    if (!routes_.is_here(first, now_ns)) {
      count_replica_read(worker);
    }
    page(worker, request, span, address, now_ns);
  } else {
    range_elsewhere(worker, request, first, address);
  }
}

// An operation at one moment must lie in one shard, even if this node has all the shards: a line that works
// must not fail because a shard moves. Another node that counts prefixes asks shard by shard.
void ClusterStore::whole_range(runtime::Worker& worker, const protocol::Request& request, const Span& span,
                               const ReplyAddress& address, std::uint64_t now_ns) {
  if (span.first == span.last) {
    if (routes_.is_here(span.first, now_ns)) {
      store_.range(worker, request,
                   protocol::changes_range(request.op) ? change_here(worker, address) : address);
    } else {
      range_elsewhere(worker, request, span.first, address);
    }
    return;
  }
  const bool locked = request.range.locked || request.op == protocol::verb::meta_range_touch;
  const bool by_prefixes = !locked && !request.range.delimiter.empty();
  if (by_prefixes && address.connection->by_peer) {
    if (routes_.is_here(span.first, now_ns)) {
      protocol::Request part = request;  // its keys are the request's
      part.range.cut = routes_.end_of(span.first);
      store_.range(worker, part, address);
    } else {
      range_elsewhere(worker, request, span.first, address);
    }
  } else if (locked || !options_.forwards || address.connection->by_peer) {
    ConnectionTable& replies = replies_of(worker);
    const bool by_flag = locked && request.op != protocol::verb::meta_range_touch;
    replies.reply(address, Seen::nothing(),
                  spans_line("range", span.first, span.last, by_flag ? kOmitX : kOneShardEach));
    replies.finished(address);
  } else if (by_prefixes) {
    count_prefixes(forwarder(worker), replies_of(worker), routes_, clock_, request, address);
  } else {
    sweep(worker, request, span, address);
  }
}

void ClusterStore::page(runtime::Worker& worker, const protocol::Request& request, const Span& span,
                        const ReplyAddress& address, std::uint64_t now_ns) {
  const bool reverse = request.range.reverse;
  const std::uint32_t last = readable_to(span, reverse, address, now_ns);
  if (last == (reverse ? span.first : span.last)) {
    store_.range(worker, request, address);
    return;
  }
  protocol::Request part = request;  // its keys are the request's
  part.range.cut = reverse ? routes_.begin_of(last) : routes_.end_of(last);
  store_.range(worker, part, address);
}

void ClusterStore::range_elsewhere(runtime::Worker& worker, const protocol::Request& request,
                                   std::uint32_t shard, const ReplyAddress& address) {
  if (const std::string refused = refusal(shard, address); !refused.empty()) {
    ConnectionTable& replies = replies_of(worker);
    replies.reply(address, Seen::nothing(), refused);
    replies.finished(address);
    return;
  }
  std::unique_ptr<ForwardedRequest> sent = begin(worker, shard, address);
  sent->changes = protocol::changes_range(request.op);
  sent->shape = reply_shape::until_noop;
  protocol::write_range_line(sent->text, request);
  forwarder(worker).forward(std::move(sent));
}

}  // namespace mxkv::server
