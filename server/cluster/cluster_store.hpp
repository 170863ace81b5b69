// The store of a node of a cluster, as sessions see it: what is for keys of this node goes to its Store at once, what
// is for others to the node that has them.
//
// Each call asks the clock: an owner's keys are here only while its lease runs, and the process may have been stopped
// since the round began. What came from another node is never sent on: it is told where the shard is by
// `SERVER_ERROR moved <address>`, and nothing was done.
//
// Who takes stale answers is served by the copy of a shard that this node follows, where that is fresh enough; what
// changes anything goes to the owner all the same.
//
// Ranges are of one node at a time. A page ends where its node's shards end, with a cursor that begins behind that;
// what is no page has to lie on one node. Nothing of several shards is done at one moment.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/clock.hpp"
#include "server/cluster/request_forwarder.hpp"
#include "server/cluster/routes.hpp"
#include "server/reply/connection_table.hpp"
#include "server/store/point/owner_reads.hpp"
#include "server/store/session_store.hpp"

namespace mxkv::server {

class Store;

struct ClusterStoreOptions {
  bool forwards = true;                        ///< false: clients are told where a key is
  std::uint32_t patience_ms = 1000;            ///< that a request is held while its shard has no owner
  std::uint64_t staleness_ns = 1'000'000'000;  ///< of what replicas answer to those who take it
  std::uint32_t again_ms = 10;                 ///< between two times that it is tried
  std::uint32_t answer_ms = 10'000;            ///< a peer that is silent for so long is given up
  std::uint32_t connect_ms = 1000;             ///< the same of one that does not take a connection
  std::size_t forward_bytes = std::size_t{64}
                              << 20U;  ///< most of a worker's requests and replies on their way
  std::string own_address{};           ///< of this node's listener for peers
};

/// Thread-safety: as SessionStore, but for what startup calls.
class ClusterStore final : public SessionStore, private OwnerReads {
 public:
  /// All outlive this. `workers`: as many as the runtime has.
  ClusterStore(Store& store, Routes& routes, const runtime::Clock& clock, std::size_t workers,
               ClusterStoreOptions options);

  /// Start-up only: who brings a worker's requests to others. It outlives all requests.
  void set_forwarder(std::size_t worker, RequestForwarder& forwarder) noexcept {
    forwarders_[worker] = &forwarder;
  }
  /// What all workers' forwarders did, ever. Any thread.
  struct Forwarded {
    std::uint64_t requests = 0;  ///< as ForwardCounters has them
    std::uint64_t again = 0;
    std::uint64_t held = 0;
    std::uint64_t no_owner = 0;
    std::uint64_t lost = 0;
    std::uint64_t no_memory = 0;
    std::uint64_t sent_bytes = 0;
    std::uint64_t received_bytes = 0;
    std::uint64_t connects = 0;
    std::uint64_t replica_reads = 0;  ///< requests that were answered here instead
  };
  [[nodiscard]] Forwarded forwarded() const noexcept;
  [[nodiscard]] Routes& routes() noexcept { return routes_; }
  [[nodiscard]] const ClusterStoreOptions& options() const noexcept { return options_; }

  // Where they are of one key each, or of many with a reply each.
  void get(runtime::Worker& worker, std::span<const protocol::AskedKey> keys, bool with_cas,
           const ReplyAddress& first) override;
  void point(runtime::Worker& worker, const protocol::PointRequest& request, ItemBuilder* value,
             const ReplyAddress& address, CommitSeq seq) override;
  [[nodiscard]] std::size_t set(runtime::Worker& worker, std::span<const protocol::SentValue> values,
                                const ReplyAddress& first, CommitSeq seq) override;

  // Of several keys at once: on one node. A flush is one of each shard, and so are the pages of a dump.
  void range(runtime::Worker& worker, const protocol::Request& request, const ReplyAddress& address) override;
  bool flush_all(runtime::Worker& worker, std::int64_t delay_s, const ReplyAddress& address,
                 protocol::BinaryForm form) override;
  void dump(runtime::Worker& worker, DumpProgress& progress, const ReplyAddress& address) override;
  [[nodiscard]] std::unique_ptr<ReceivedBatch> begin_batch(std::uint32_t lines) override;
  void batch(runtime::Worker& worker, std::unique_ptr<ReceivedBatch> batch,
             const ReplyAddress& address) override;

  // The node's own: the store's.
  void count_too_large(runtime::Worker& worker) noexcept override;
  void count_no_memory(runtime::Worker& worker) noexcept override;
  [[nodiscard]] bool makes_room(runtime::Worker& worker, shortage what) noexcept override;
  void sampled(runtime::Worker& worker, std::string_view key) override;

 private:
  /// Shards that have keys of a range, in the order of keys.
  struct Span {
    std::uint32_t first;
    std::uint32_t last;
  };

  /// One writer: the worker. Relaxed: a count.
  struct alignas(64) ReplicaReads {
    std::atomic<std::uint64_t> count{0};
  };

  void count_replica_read(const runtime::Worker& worker) noexcept;
  [[nodiscard]] bool is_here(std::string_view key, std::uint64_t now_ns) const noexcept {
    return routes_.is_here(routes_.shard_of(key), now_ns);
  }
  /// Whether a read of it may be answered by the copy that is here.
  [[nodiscard]] bool is_fresh_for(const ReplyAddress& address, std::uint32_t shard,
                                  std::uint64_t now_ns) const noexcept {
    return address.connection->takes_stale && routes_.is_fresh(shard, now_ns, options_.staleness_ns);
  }
  /// Whether a page of it is read here.
  [[nodiscard]] bool is_readable(const ReplyAddress& address, std::uint32_t shard,
                                 std::uint64_t now_ns) const noexcept {
    return routes_.is_here(shard, now_ns) || is_fresh_for(address, shard, now_ns);
  }
  [[nodiscard]] RequestForwarder& forwarder(const runtime::Worker& worker) const noexcept;
  [[nodiscard]] std::unique_ptr<ForwardedRequest> begin(runtime::Worker& worker, std::uint32_t shard,
                                                        const ReplyAddress& address) const;
  void point_elsewhere(runtime::Worker& worker, const protocol::PointRequest& request, ItemBuilder* value,
                       const ReplyAddress& address, CommitSeq seq);
  void ask_owner(runtime::Worker& worker, std::uint32_t shard, const protocol::PointRequest& request,
                 ItemBuilder* value, const ReplyAddress& address, CommitSeq seq);
  [[nodiscard]] bool take_read(runtime::Worker& worker, const protocol::PointRequest& request,
                               const ReplyAddress& address) override;
  void set_elsewhere(runtime::Worker& worker, const protocol::SentValue& value, const ReplyAddress& address,
                     CommitSeq seq);
  /// What is answered in place of sending a request on; empty: it is sent.
  [[nodiscard]] std::string refusal(std::uint32_t shard, const ReplyAddress& address) const;

  // Ranges: cluster_ranges.cpp.
  [[nodiscard]] Span span_of(const protocol::RangeRequest& range) const noexcept;
  /// Of a walk whose first shard is readable: the last one up to which all are.
  [[nodiscard]] std::uint32_t readable_to(const Span& span, bool reverse, const ReplyAddress& address,
                                          std::uint64_t now_ns) const noexcept;
  void whole_range(runtime::Worker& worker, const protocol::Request& request, const Span& span,
                   const ReplyAddress& address, std::uint64_t now_ns);
  void sweep(runtime::Worker& worker, const protocol::Request& request, const Span& span,
             const ReplyAddress& address);
  void page(runtime::Worker& worker, const protocol::Request& request, const Span& span,
            const ReplyAddress& address, std::uint64_t now_ns);
  void range_elsewhere(runtime::Worker& worker, const protocol::Request& request, std::uint32_t shard,
                       const ReplyAddress& address);

  Store& store_;
  Routes& routes_;
  const runtime::Clock& clock_;
  std::vector<RequestForwarder*> forwarders_;
  std::vector<ReplicaReads> replica_reads_;  ///< by worker
  ClusterStoreOptions options_;
};

}  // namespace mxkv::server
