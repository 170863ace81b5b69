// Brings a worker's requests to the nodes that own their keys, and their replies to the clients.
//
// Requests of one shard go out in the order in which they came, to one node at a time: where the owner changes, what
// is on its way is waited for first. Writes of one client to one key stay in their order (forwarded_order.hpp). What
// cannot go out is held, and all of its shard behind it, until there is an owner, or its time is over.
//
// A node that has a key no more says so, and has done nothing. Where a connection breaks, what was not sent and what
// only reads is sent again; of a write that was sent nobody knows whether it was done, and its client is told that.
//
// A node is reached by two connections: what changes nothing does not wait there for what does, whose replies the log
// holds back. Both never have requests of one client for one key at a time, as its session sees to that.
//
// What a client sent when its keys were elsewhere, and which are here by now, goes through this node's own listener
// for peers: one way for all.
//
// Where nodes speak TLS, both sides show a certificate of the same authority.
#pragma once

#include <deque>
#include <memory>
#include <string_view>
#include <vector>

#include "server/cluster/cluster_store.hpp"
#include "server/net/asio.hpp"
#include "server/net/forwarded_order.hpp"
#include "server/net/handler_memory.hpp"
#include "server/net/peer_link.hpp"
#include "server/reply/connection_table.hpp"
#include "server/store/happenings.hpp"

namespace mxkv::server {

/// Thread-safety: owner worker only.
class Forwarder final : public RequestForwarder, private PeerLinkOwner {
 public:
  Forwarder(ClusterStore& cluster, runtime::Worker& worker, ConnectionTable& replies,
            asio::io_context& context, Happenings& happenings);
  /// How it speaks to the other nodes; not said: without TLS. Before the worker runs.
  void set_tls(const TlsDoor* tls) noexcept { rules_.tls = tls; }
  /// Its waits end: the context is to run once more before this goes.
  void close();

  [[nodiscard]] std::unique_ptr<ForwardedRequest> take() override;
  void forward(std::unique_ptr<ForwardedRequest> request) override;
  [[nodiscard]] const ForwardCounters& counters() const noexcept override { return counters_; }

  /// In a round: takes what came. Returns whether anything did.
  bool poll();
  /// At its end: sends what was given. Returns whether anything was.
  bool end_turn();
  /// Before the worker sleeps: what comes wakes it.
  void wait();
  /// How long it may sleep at most.
  [[nodiscard]] std::uint64_t most_sleep_ns() const noexcept;

 private:
  /// What waits for a shard's owner, and what is with it.
  struct Line {
    std::deque<std::unique_ptr<ForwardedRequest>> again;    ///< were sent before; these go first
    std::deque<std::unique_ptr<ForwardedRequest>> waiting;  ///< were not
    std::uint32_t in_flight = 0;
    std::uint32_t peer = 0;           ///< which has these
    std::uint32_t moves = 0;          ///< in a row that it was told of
    std::uint64_t not_before_ns = 0;  ///< nothing is sent
    std::uint64_t look_again_ns = 0;  ///< while it is listed
    bool listed = false;              ///< in lines_due_
    bool unreached = false;           ///< the last that was sent found no connection, or it broke
    [[nodiscard]] bool idle() const noexcept { return again.empty() && waiting.empty(); }
  };

  void answered(std::unique_ptr<ForwardedRequest> request, std::string_view reply) override;
  void lost(std::unique_ptr<ForwardedRequest> request, bool sent) override;
  void complained(const std::string& address, const std::string& why) override;

  [[nodiscard]] bool send_line(std::uint32_t shard, std::uint64_t now_ns);
  void hold(Line& line, std::uint64_t until_ns, std::uint64_t now_ns);
  void drop_late(Line& line, std::uint32_t shard, std::uint64_t now_ns);
  /// What is told a request that has waited for too long.
  [[nodiscard]] std::string why_late(const Line& line, std::uint32_t shard) const;
  void moved(std::unique_ptr<ForwardedRequest> request, std::string_view address);
  void list(std::uint32_t shard);
  /// Puts a request at the end of its shard's line.
  void line_up(std::unique_ptr<ForwardedRequest> request);
  [[nodiscard]] PeerLink& link(std::uint32_t peer, bool changes);
  void deliver(std::unique_ptr<ForwardedRequest> request, std::string_view reply);
  void answer_binary(const ForwardedRequest& request, std::string_view reply);
  void refuse(std::unique_ptr<ForwardedRequest> request, std::string_view text);
  void end(std::unique_ptr<ForwardedRequest> request);
  void note_end(std::uint64_t number);
  [[nodiscard]] std::uint64_t now_ns() const noexcept;

  ClusterStore& cluster_;
  Routes& routes_;
  ForwardMarks& marks_;
  std::deque<bool> ended_;  ///< of those that began behind what marks_ tells as ended
  runtime::Worker& worker_;
  ConnectionTable& replies_;
  Happenings& happenings_;
  PeerLinkRules rules_;
  std::uint32_t own_peer_;
  ForwardCounters counters_;
  SocketEvents<PeerLink> events_;
  Descriptor events_wait_;
  HandlerMemory events_memory_;
  bool events_awaited_ = false;
  bool events_there_ = false;
  std::vector<std::unique_ptr<PeerLink>> links_;  ///< two of each peer, by its number; null: none was needed
  std::vector<PeerLink*> ready_;
  ForwardedOrder order_;
  std::vector<Line> lines_;  ///< by shard
  std::vector<std::uint32_t> lines_due_;
  std::vector<std::unique_ptr<ForwardedRequest>> refused_;  ///< there is no memory for them
  std::vector<std::unique_ptr<ForwardedRequest>> free_;
  std::size_t bytes_ = 0;   ///< of all texts
  std::size_t on_way_ = 0;  ///< requests
  std::uint64_t next_ns_ = PeerLink::kNever;
};

}  // namespace mxkv::server
