// A cluster node's store, as sessions see it. Requests for keys of this node go to its Store at once, others
// to the node that has the keys.
//
// Each call asks the clock: an owner's keys are here only while its lease runs, and the process may have been
// stopped since the round began. A request from another node is never forwarded: its reply is `SERVER_ERROR
// moved <address>`, and nothing was done.
//
// A client that takes stale answers is served by the copy of a shard that this node follows, if that copy is
// fresh enough. Its writes still go to the owner.
//
// A page of a range ends where its node's shards end, with a cursor for the rest. Counts and deletes go over
// all shards, each part at its shard's owner. Operations at one moment, which are locked ranges and batches,
// must lie in one shard.
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
#include "runtime/scheduler/worker.hpp"
#include "server/cluster/request_forwarder.hpp"
#include "server/cluster/routes.hpp"
#include "server/reply/connection_table.hpp"
#include "server/store/core/worker_context.hpp"
#include "server/store/point/owner_reads.hpp"
#include "server/store/session_store.hpp"

namespace mxkv::server {

class Store;

struct ClusterStoreOptions {
  bool forwards = true;                        ///< false: the reply names the node that has the key
  std::uint32_t patience_ms = 1000;            ///< a request is held this long while its shard has no owner
  std::uint64_t staleness_ns = 1'000'000'000;  ///< of answers from replicas, for clients that take them
  std::uint32_t again_ms = 10;                 ///< between two attempts
  std::uint32_t answer_ms = 10'000;            ///< a peer that is silent for this long is given up
  std::uint32_t connect_ms = 1000;             ///< limit for a peer to accept a connection
  std::size_t forward_bytes = std::size_t{64} << 20U;  ///< limit of a worker's requests and replies in flight
  std::string own_address{};                           ///< this node's listener for peers
};

/// Thread-safety: as SessionStore, except for the start-up functions.
class ClusterStore final : public SessionStore, private OwnerReads {
 public:
  /// All arguments outlive this. `workers`: the runtime's number of workers.
  ClusterStore(Store& store, Routes& routes, const runtime::Clock& clock, std::size_t workers,
               ClusterStoreOptions options);

  /// Start-up only: sets the forwarder of a worker's requests. It outlives all requests.
  void set_forwarder(std::size_t worker, RequestForwarder& forwarder) noexcept {
    forwarders_[worker] = &forwarder;
  }
  /// The totals of all workers' forwarders. Any thread.
  struct Forwarded {
    std::uint64_t requests = 0;  ///< this and the next: as in ForwardCounters
    std::uint64_t again = 0;
    std::uint64_t held = 0;
    std::uint64_t no_owner = 0;
    std::uint64_t lost = 0;
    std::uint64_t no_memory = 0;
    std::uint64_t sent_bytes = 0;
    std::uint64_t received_bytes = 0;
    std::uint64_t connects = 0;
    std::uint64_t replica_reads = 0;  ///< requests answered by this node's copy instead
  };
  [[nodiscard]] Forwarded forwarded() const noexcept;
  [[nodiscard]] Routes& routes() noexcept { return routes_; }
  [[nodiscard]] const ClusterStoreOptions& options() const noexcept { return options_; }

  // Requests for one key, or for many keys with a reply each.
  void get(runtime::Worker& worker, std::span<const protocol::AskedKey> keys, bool with_cas,
           const ReplyAddress& first) override;
  void point(runtime::Worker& worker, const protocol::PointRequest& request, ItemBuilder* value,
             const ReplyAddress& address, CommitSeq seq) override;
  [[nodiscard]] std::size_t set(runtime::Worker& worker, std::span<const protocol::SentValue> values,
                                const ReplyAddress& first, CommitSeq seq) override;

  // Requests for several keys at once, on one node. A flush runs in each shard by itself, and so do the pages
  // of a dump.
  void range(runtime::Worker& worker, const protocol::Request& request, const ReplyAddress& address) override;
  bool flush_all(runtime::Worker& worker, std::int64_t delay_s, const ReplyAddress& address,
                 protocol::BinaryForm form) override;
  void dump(runtime::Worker& worker, DumpProgress& progress, const ReplyAddress& address) override;
  [[nodiscard]] std::unique_ptr<ReceivedBatch> begin_batch(std::uint32_t lines) override;
  void batch(runtime::Worker& worker, std::unique_ptr<ReceivedBatch> batch,
             const ReplyAddress& address) override;

  // The node's own functions, which go to the store.
  void count_too_large(runtime::Worker& worker) noexcept override;
  void count_no_memory(runtime::Worker& worker) noexcept override;
  [[nodiscard]] bool makes_room(runtime::Worker& worker, shortage what, RoomWait& wait) noexcept override;
  void sampled(runtime::Worker& worker, std::string_view key, bool gets) override;

 private:
  /// The shards that have keys of a range, in the order of keys.
  struct Span {
    std::uint32_t first;
    std::uint32_t last;
  };

  /// One writer: the worker. Relaxed: a statistic.
  struct alignas(64) ReplicaReads {
    std::atomic<std::uint64_t> count{0};
  };

  [[nodiscard]] static ConnectionTable& replies_of(runtime::Worker& worker) noexcept {
    return *worker.local<WorkerContext>().replies;
  }
  /// Begins operations that change this node's data: no shard is left before they have ended. Every call of the store
  /// that may change data takes its address from here, in the step that saw that the shard is here.
  [[nodiscard]] static ReplyAddress change_here(runtime::Worker& worker, const ReplyAddress& address,
                                                std::size_t changes = 1) noexcept {
    return replies_of(worker).mark_changes(address, changes);
  }
  void count_replica_read(const runtime::Worker& worker) noexcept;
  [[nodiscard]] bool is_here(std::string_view key, std::uint64_t now_ns) const noexcept {
    return routes_.is_here(routes_.shard_of(key), now_ns);
  }
  /// Whether this node's copy may answer a read of the shard.
  [[nodiscard]] bool is_fresh_for(const ReplyAddress& address, std::uint32_t shard,
                                  std::uint64_t now_ns) const noexcept {
    return address.connection->takes_stale && routes_.is_fresh(shard, now_ns, options_.staleness_ns);
  }
  /// Whether this node reads a page of the shard.
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
  /// The error that answers a request instead of forwarding it; empty: forward it.
  [[nodiscard]] std::string refusal(std::uint32_t shard, const ReplyAddress& address) const;

  // Ranges: cluster_ranges.cpp.
  [[nodiscard]] Span span_of(const protocol::RangeRequest& range) const noexcept;
  /// For a walk whose first shard is readable: the last shard up to which all are readable.
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
