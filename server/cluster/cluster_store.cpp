#include "server/cluster/cluster_store.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "protocol/reply.hpp"
#include "protocol/request_writer.hpp"
#include "runtime/base/assert.hpp"
#include "server/cluster/binary_forward.hpp"
#include "server/cluster/cluster_batch.hpp"
#include "server/cluster/refusal.hpp"
#include "server/cluster/value_text.hpp"
#include "server/store/point/binary_reply.hpp"
#include "server/store/store.hpp"

namespace mxkv::server {

namespace {

/// Whether a replica may answer the request. Only the owner may grant renewal of an item, so that one client
/// gets it. Whether an item is stale is known only where it is found: see take_read().
bool reads_only(const protocol::PointRequest& request) noexcept {
  return request.only_reads() && (request.flags == nullptr || !request.flags->has_recache);
}

/// Two writes of one client to one key have the same number. Other writes may share it.
std::uint64_t key_of_client(const ReplyAddress& address, std::string_view key) noexcept {
  return std::hash<std::string_view>{}(key) * 31 + std::hash<const void*>{}(address.connection);
}

void end_operation(ConnectionTable& replies, const ReplyAddress& address, bool writes, CommitSeq seq) {
  if (writes) {
    replies.finished_write(address, seq);
  } else {
    replies.finished(address);
  }
}

}  // namespace

ClusterStore::ClusterStore(Store& store, Routes& routes, const runtime::Clock& clock, std::size_t workers,
                           ClusterStoreOptions options)
    : store_(store),
      routes_(routes),
      clock_(clock),
      forwarders_(workers),
      replica_reads_(workers),
      options_(std::move(options)) {
  for (std::size_t i = 0; i < workers; ++i) {
    store_.context(runtime::WorkerId{static_cast<std::uint16_t>(i)}).owner_reads = this;
  }
  MXKV_ASSERT(routes_.end_of(0) != std::string_view("\0", 1), "each shard has a key before its end");
}

RequestForwarder& ClusterStore::forwarder(const runtime::Worker& worker) const noexcept {
  RequestForwarder* const found = forwarders_[worker.id().index()];
  MXKV_ASSERT(found != nullptr, "each worker has its forwarder before it runs");
  return *found;
}

ClusterStore::Forwarded ClusterStore::forwarded() const noexcept {
  Forwarded sum;
  for (const RequestForwarder* const one : forwarders_) {
    if (one == nullptr) {
      continue;
    }
    const ForwardCounters& counters = one->counters();
    const auto add = [](std::uint64_t& to, const std::atomic<std::uint64_t>& counter) {
      to += counter.load(std::memory_order_relaxed);
    };
    add(sum.requests, counters.requests);
    add(sum.again, counters.again);
    add(sum.held, counters.held);
    add(sum.no_owner, counters.no_owner);
    add(sum.lost, counters.lost);
    add(sum.no_memory, counters.no_memory);
    add(sum.sent_bytes, counters.sent_bytes);
    add(sum.received_bytes, counters.received_bytes);
    add(sum.connects, counters.connects);
  }
  for (const ReplicaReads& one : replica_reads_) {
    sum.replica_reads += one.count.load(std::memory_order_relaxed);
  }
  return sum;
}

void ClusterStore::count_replica_read(const runtime::Worker& worker) noexcept {
  std::atomic<std::uint64_t>& count = replica_reads_[worker.id().index()].count;
  count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

std::string ClusterStore::refusal(std::uint32_t shard, const ReplyAddress& address) const {
  MXKV_ASSERT(shard < routes_.shards(), "each key is in a shard");
  const bool by_peer = address.connection->by_peer;
  if (options_.forwards && !by_peer) [[likely]] {
    return {};
  }
  const Route route = routes_.route(shard);
  return refusal_line(by_peer ? kMoved : kNotHere,
                      route.where == Route::to::peer ? routes_.peer_address(route.peer) : "-");
}

std::unique_ptr<ForwardedRequest> ClusterStore::begin(runtime::Worker& worker, std::uint32_t shard,
                                                      const ReplyAddress& address) const {
  std::unique_ptr<ForwardedRequest> made = forwarder(worker).take();
  made->shard = shard;
  made->address = address;
  return made;
}

// --- One key ---

void ClusterStore::point(runtime::Worker& worker, const protocol::PointRequest& request, ItemBuilder* value,
                         const ReplyAddress& address, CommitSeq seq) {
  if (is_here(request.key, clock_.monotonic_ns())) [[likely]] {
    if (request.terms.ordered) {
      address.connection->commits.note_here(seq);
    }
    store_.point(worker, request, value, request.only_reads() ? address : change_here(worker, address), seq);
  } else {
    point_elsewhere(worker, request, value, address, seq);
  }
}

void ClusterStore::point_elsewhere(runtime::Worker& worker, const protocol::PointRequest& request,
                                   ItemBuilder* value, const ReplyAddress& address, CommitSeq seq) {
  const std::uint32_t shard = routes_.shard_of(request.key);
  if (reads_only(request) && is_fresh_for(address, shard, clock_.monotonic_ns())) {
    store_.point(worker, request, value, address, seq);
    count_replica_read(worker);
    return;
  }
  ask_owner(worker, shard, request, value, address, seq);
}

bool ClusterStore::take_read(runtime::Worker& worker, const protocol::PointRequest& request,
                             const ReplyAddress& address) {
  const std::uint32_t shard = routes_.shard_of(request.key);
  if (!address.connection->takes_stale || routes_.is_here(shard, clock_.monotonic_ns())) {
    return false;
  }
  ask_owner(worker, shard, request, nullptr, address, 0);
  return true;
}

void ClusterStore::ask_owner(runtime::Worker& worker, std::uint32_t shard,
                             const protocol::PointRequest& request, ItemBuilder* value,
                             const ReplyAddress& address, CommitSeq seq) {
  const std::string refused = refusal(shard, address);
  if (!refused.empty()) [[unlikely]] {
    if (request.is_binary()) {
      if (ReplyQueue* const queue = replies_of(worker).find(address, Seen::nothing())) {
        write_binary_error(*queue, address.ticket, request.flags->binary, protocol::binary_status::refused);
        queue->close(address.ticket);
      }
    } else {
      refuse_request(replies_of(worker), address, request.end_line, refused);
    }
    if (value != nullptr) {
      value->abandon(worker);
    }
    end_operation(replies_of(worker), address, request.terms.ordered, seq);
    return;
  }
  std::unique_ptr<ForwardedRequest> sent = begin(worker, shard, address);
  sent->seq = seq;
  sent->writes = request.terms.ordered;
  sent->key_of_client = key_of_client(address, request.key);
  sent->changes = !request.only_reads();
  sent->end_line = request.end_line;
  if (request.is_binary()) [[unlikely]] {
    sent->binary = request.flags->binary;
    if (sent->binary.tells_key()) {
      sent->key = request.key;
    }
    write_binary_request(sent->text, request, value, worker);
    forwarder(worker).forward(std::move(sent));
    return;
  }
  sent->shape = request.is_meta() && request.flags->quiet ? reply_shape::until_noop : reply_shape::one;
  write_request(sent->text, request, value, worker);
  forwarder(worker).forward(std::move(sent));
}

// --- Many keys: neighbouring keys that are here form one call ---

void ClusterStore::get(runtime::Worker& worker, std::span<const protocol::AskedKey> keys, bool with_cas,
                       const ReplyAddress& first) {
  const std::uint64_t now_ns = clock_.monotonic_ns();
  ReplyAddress address = first;
  std::size_t begun = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (is_here(keys[i].view(), now_ns)) [[likely]] {
      continue;
    }
    if (is_fresh_for(first, routes_.shard_of(keys[i].view()), now_ns)) {
      count_replica_read(worker);
      continue;
    }
    if (i > begun) {
      address.ticket = first.ticket + static_cast<std::uint32_t>(begun);
      store_.get(worker, keys.subspan(begun, i - begun), with_cas, address);
    }
    begun = i + 1;
    address.ticket = first.ticket + static_cast<std::uint32_t>(i);
    const protocol::AskedKey& key = keys[i];
    point_elsewhere(worker,
                    key.meta()
                        ? protocol::usual_meta_get(key.view())
                        : protocol::PointRequest{.key = key.view(),
                                                 .op = with_cas ? protocol::verb::gets : protocol::verb::get,
                                                 .end_line = key.ends_line()},
                    nullptr, address, 0);
  }
  if (begun < keys.size()) [[likely]] {
    address.ticket = first.ticket + static_cast<std::uint32_t>(begun);
    store_.get(worker, keys.subspan(begun), with_cas, address);
  }
}

// If the client wants no reply, no value has a ticket.
std::size_t ClusterStore::set(runtime::Worker& worker, std::span<const protocol::SentValue> values,
                              const ReplyAddress& first, CommitSeq seq) {
  const std::uint64_t now_ns = clock_.monotonic_ns();
  ReplyAddress address = first;
  for (std::size_t done = 0; done < values.size();) {
    address.ticket = first.wants_reply() ? first.ticket + static_cast<std::uint32_t>(done) : first.ticket;
    const CommitSeq own_seq = seq + static_cast<CommitSeq>(done);
    std::size_t run = 0;
    while (done + run < values.size() && is_here(values[done + run].key(), now_ns)) [[likely]] {
      ++run;
    }
    if (run == 0) {
      set_elsewhere(worker, values[done], address, own_seq);
      ++done;
      continue;
    }
    address.connection->commits.note_here(own_seq + static_cast<CommitSeq>(run - 1));
    const ReplyAddress marked = change_here(worker, address, run);
    const std::size_t taken = store_.set(worker, values.subspan(done, run), marked, own_seq);
    MXKV_ASSERT(taken <= run, "the store takes no values of other nodes");
    done += taken;
    if (taken < run) [[unlikely]] {
      replies_of(worker).take_back_changes(marked, run - taken);
      return done;
    }
  }
  return values.size();
}

void ClusterStore::set_elsewhere(runtime::Worker& worker, const protocol::SentValue& value,
                                 const ReplyAddress& address, CommitSeq seq) {
  const std::uint32_t shard = routes_.shard_of(value.key());
  if (const std::string refused = refusal(shard, address); !refused.empty()) [[unlikely]] {
    refuse_request(replies_of(worker), address, true, refused);
    end_operation(replies_of(worker), address, true, seq);
    return;
  }
  std::unique_ptr<ForwardedRequest> sent = begin(worker, shard, address);
  sent->seq = seq;
  sent->writes = true;
  sent->changes = true;
  sent->key_of_client = key_of_client(address, value.key());
  protocol::write_point_line(sent->text, protocol::usual_set(value.key(), value.meta),
                             {.bytes = value.data_bytes});
  sent->text += value.value();
  sent->text += protocol::kCrLf;
  forwarder(worker).forward(std::move(sent));
}

// --- The node's own functions ---

void ClusterStore::sampled(runtime::Worker& worker, std::string_view key, bool gets) {
  store_.sampled(worker, key, gets && is_here(key, clock_.monotonic_ns()));
}

void ClusterStore::count_too_large(runtime::Worker& worker) noexcept {
  store_.count_too_large(worker);
}

void ClusterStore::count_no_memory(runtime::Worker& worker) noexcept {
  store_.count_no_memory(worker);
}

bool ClusterStore::makes_room(runtime::Worker& worker, shortage what, RoomWait& wait) noexcept {
  return store_.makes_room(worker, what, wait);
}

// --- Batches ---

std::unique_ptr<ReceivedBatch> ClusterStore::begin_batch(std::uint32_t lines) {
  return std::make_unique<ClusterBatch>(routes_, clock_, store_.begin_batch(lines), lines);
}

// The shard may have left since the batch's lines arrived; nothing was executed yet.
void ClusterStore::batch(runtime::Worker& worker, std::unique_ptr<ReceivedBatch> received,
                         const ReplyAddress& address) {
  const std::unique_ptr<ClusterBatch> batch{static_cast<ClusterBatch*>(received.release())};
  const std::uint32_t shard = batch->shard();
  if (!batch->is_elsewhere() && routes_.is_here(shard, clock_.monotonic_ns())) {
    store_.batch(worker, batch->take_own(), change_here(worker, address));
    return;
  }
  const std::string refused = refusal(shard, address);
  if (refused.empty() && !batch->is_elsewhere()) {
    batch->leave(worker);
  }
  if (!refused.empty()) {
    batch->abandon(worker);
    replies_of(worker).reply(address, Seen::nothing(), refused);
    replies_of(worker).finished(address);
    return;
  }
  std::unique_ptr<ForwardedRequest> sent = begin(worker, shard, address);
  sent->changes = true;
  sent->shape = reply_shape::until_noop;
  sent->text = batch->take_text(worker);
  batch->abandon(worker);
  forwarder(worker).forward(std::move(sent));
}

}  // namespace mxkv::server
