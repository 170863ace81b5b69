// Forwards a worker's requests to the nodes that own their keys, and brings the replies to the clients.
//
// Requests for one shard go out in the order in which they came, to one node at a time: when the owner
// changes, requests wait until those on their way to the old owner have been answered. Writes of one client
// to one key stay in order (forwarded_order.hpp). A request that cannot go out is held, and so are all
// requests of its shard behind it, until the shard has an owner or the request's time is over.
//
// A node that no longer has the key refuses the request as moved, and has done nothing. When a connection
// breaks, requests that were not sent, and reads, are sent again. A write that was sent may or may not have
// been done: its client gets an error that says so.
//
// Each node is reached by two connections. Requests that change nothing have their own, so that they do not
// wait behind writes, whose replies the log holds back. The session ensures that the two never carry requests
// of one client for one key at the same time.
//
// A client's requests may be in line for another node when this node becomes the owner. They then go through
// this node's own peer listener, so that all take the same way.
//
// If nodes speak TLS, both sides show a certificate of the same authority.
#pragma once

#include <deque>
#include <memory>
#include <string_view>
#include <vector>

#include "server/cluster/cluster_store.hpp"
#include "server/net/peers/forwarded_order.hpp"
#include "server/net/peers/peer_link.hpp"
#include "server/net/sockets/socket_events.hpp"
#include "server/reply/connection_table.hpp"
#include "server/store/happenings.hpp"

namespace mxkv::server {

/// Thread-safety: owner worker only.
class Forwarder final : public RequestForwarder, private PeerLinkOwner {
 public:
  Forwarder(ClusterStore& cluster, runtime::Worker& worker, ConnectionTable& replies, Happenings& happenings);
  /// Sets the TLS settings for other nodes; not called: no TLS. Before the worker runs.
  void set_tls(const TlsDoor* tls) noexcept { rules_.tls = tls; }
  /// Readable while a reply may have come; rings bell() in its worker's set.
  [[nodiscard]] int events() const noexcept { return events_.descriptor(); }
  [[nodiscard]] Bell& bell() noexcept { return bell_; }

  [[nodiscard]] std::unique_ptr<ForwardedRequest> take() override;
  void forward(std::unique_ptr<ForwardedRequest> request) override;
  [[nodiscard]] const ForwardCounters& counters() const noexcept override { return counters_; }

  /// Called in a round: takes replies that came. Returns whether any did.
  bool poll();
  /// Called at the end of a round: sends the requests that were given. Returns whether there were any.
  bool end_turn();
  /// How long the worker may sleep at most, in ns.
  [[nodiscard]] std::uint64_t most_sleep_ns() const noexcept;

 private:
  /// One shard's requests: those that wait for the owner, and those on their way to it.
  struct Line {
    std::deque<std::unique_ptr<ForwardedRequest>> again;    ///< sent before; these go first
    std::deque<std::unique_ptr<ForwardedRequest>> waiting;  ///< not sent yet
    std::uint32_t in_flight = 0;
    std::uint32_t peer = 0;           ///< the node that has the requests in flight
    std::uint32_t moves = 0;          ///< answers "moved" in a row
    std::uint64_t not_before_ns = 0;  ///< no request is sent earlier
    std::uint64_t look_again_ns = 0;  ///< when to look again, if it is listed
    bool listed = false;              ///< in lines_due_
    bool unreached = false;           ///< the last request sent found no connection, or that broke
    [[nodiscard]] bool idle() const noexcept { return again.empty() && waiting.empty(); }
  };

  void answered(std::unique_ptr<ForwardedRequest> request, std::string_view reply) override;
  void lost(std::unique_ptr<ForwardedRequest> request, bool sent) override;
  void complained(const std::string& address, const std::string& why) override;

  [[nodiscard]] bool send_line(std::uint32_t shard, std::uint64_t now_ns);
  void hold(Line& line, std::uint64_t until_ns, std::uint64_t now_ns);
  void drop_late(Line& line, std::uint32_t shard, std::uint64_t now_ns);
  /// The error for a request that has waited for too long.
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
  [[nodiscard]] std::uint64_t now_ns() const noexcept;

  ClusterStore& cluster_;
  Routes& routes_;
  BegunChanges& changes_;
  runtime::Worker& worker_;
  ConnectionTable& replies_;
  Happenings& happenings_;
  PeerLinkRules rules_;
  std::uint32_t own_peer_;
  ForwardCounters counters_;
  SocketEvents<PeerLink> events_;
  Bell bell_;
  std::vector<std::unique_ptr<PeerLink>> links_;  ///< two of each peer, by its number; null: not needed yet
  std::vector<PeerLink*> ready_;
  ForwardedOrder order_;
  std::vector<Line> lines_;  ///< by shard
  std::vector<std::uint32_t> lines_due_;
  std::vector<std::unique_ptr<ForwardedRequest>> refused_;  ///< to be refused: no memory for them
  std::vector<std::unique_ptr<ForwardedRequest>> free_;
  std::size_t bytes_ = 0;   ///< bytes of all requests
  std::size_t on_way_ = 0;  ///< requests
  std::uint64_t next_ns_ = PeerLink::kNever;
};

}  // namespace mxkv::server
