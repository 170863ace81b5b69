// One client's socket: moves bytes between it and its session.
//
// An event of the socket only marks the connection (socket_events.hpp). Reading and sending happen in the
// worker's rounds: one read of the bytes that have arrived, one send of all replies. The connection watches
// the socket for output only while the kernel's send buffer is full.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/base/assert.hpp"
#include "server/net/connection/client_socket.hpp"
#include "server/net/connection/client_table.hpp"
#include "server/net/connection/moved_connection.hpp"
#include "server/net/session/stepped_session.hpp"
#include "server/net/sockets/door.hpp"
#include "server/net/sockets/socket_events.hpp"
#include "server/reply/held_output.hpp"

namespace mxkv::server {

class Connection;
class ConnectionHost;
class NetWorker;

/// A connection's places in its worker's lists, for the lists alone.
struct ConnectionLinks {
  bool ready = false;          ///< in the list of ready connections
  bool waits_to_send = false;  ///< in the queue of SendTurns
  Connection* next_ready = nullptr;
  Connection* next = nullptr;  ///< of all connections of the worker
  Connection* previous = nullptr;
};

/// Thread-safety: owner worker only.
class Connection final : public ConnectionOwner {
 public:
  /// Takes over `socket`, which is non-blocking and was accepted at `door`.
  Connection(ConnectionHost& net, int socket, const Door& door);
  /// Continues a connection that left another worker.
  Connection(ConnectionHost& net, MovedConnection& moved);
  ~Connection();

  [[nodiscard]] const Client& client() const noexcept { return client_; }
  /// Only while it is open.
  [[nodiscard]] const Session& session() const noexcept { return *session_; }
  [[nodiscard]] int descriptor() const noexcept { return socket_.descriptor(); }
  ConnectionLinks links;

  /// Its socket had an event.
  void became_ready(Readiness now);
  /// Its turn in a round: continues where the session stopped, and reads once. Returns how many requests are in
  /// flight or have ended in the turn.
  std::size_t take_turn();
  /// Requests in flight; of a closed connection 0. A handshake counts as kHandshakeRequests.
  [[nodiscard]] std::size_t in_flight() const noexcept {
    if (closed()) [[unlikely]] {
      return 0;
    }
    const ConnectionState& entry = session_->entry();
    if (entry.life.is(life_stage::greeting)) [[unlikely]] {
      return socket_.speaks_tls() ? kHandshakeRequests : 0;
    }
    return entry.order.in_flight();
  }
  /// Whether operations of its requests are in the store, or at other nodes.
  [[nodiscard]] bool is_under_way() const noexcept { return session_->entry().order.in_flight() > 0; }
  [[nodiscard]] bool takes_stale() const noexcept { return session_->entry().takes_stale; }
  /// Called at the end of a round in which the connection was marked. Sends, closes the connection if all is
  /// done, and arranges the next wait. Returns whether it made progress.
  bool settle();
  /// Operations ended that the session waited for.
  void resume() override;
  [[nodiscard]] std::string client_name() const override { return client_.peer; }
  [[nodiscard]] bool has_left(std::size_t end) const override;
  [[nodiscard]] bool take_name(std::string_view name) override;
  void logged_in(const std::string& user) override;
  /// All records up to `durable` are on disk: replies that waited for them are sent at the end of this round.
  void reached_disk(std::uint64_t durable);
  /// Whether output waits for the disk.
  [[nodiscard]] bool holds_output() const noexcept { return held_.holds(); }
  /// The session is not read until the journal has room.
  void pauses_reading() noexcept;
  /// Since when output is held; if none is, since when it is not read for the journal.
  [[nodiscard]] std::uint64_t waits_since_ns() const noexcept {
    return held_.holds() ? held_.since_ns() : not_read_since_ns_;
  }
  /// Gives up replies that are held, or input that is not read. The client gets a last line if one can stand
  /// there.
  void give_up_waiting();
  /// What its session waited for may have come: the caller tells the session. settle() follows.
  [[nodiscard]] Session& go_on() noexcept {
    MXKV_ASSERT(!closed(), "a closed connection waits for nothing");
    return session_.step();
  }
  /// The room admits the large value or the handshake that this connection waits with.
  void admitted();
  /// Whether its large value or its handshake makes no progress at `now_ns`.
  [[nodiscard]] bool stalls(std::uint64_t now_ns) const noexcept;
  /// Users or rates have changed: closes the connection if its user must leave. Returns whether it did.
  bool review();
  /// Answers the requests that have arrived, then closes.
  void drain();
  /// Closes the connection if one of its timeouts is over at `now_ns`.
  void check_times(std::uint64_t now_ns);
  /// Closes the connection for its unread replies, or for its unfinished input, and counts that.
  void close_for_output();
  void close_for_input();
  /// Drops the connection; nothing more is sent.
  void close();

  // --- Moves to another worker: connection_moves.cpp ---

  /// Its work since note_work().
  [[nodiscard]] std::uint64_t work() const noexcept;
  void note_work() noexcept;
  /// Whether it may be asked to leave at `now_ns`.
  [[nodiscard]] bool movable(std::uint64_t now_ns) const noexcept;
  /// Whether it may move only to workers of its listener's node.
  [[nodiscard]] bool confined() const noexcept { return door_->node.has_value(); }
  /// The connection shall leave for `taker` as soon as it rests. From then on the worker calls
  /// go_on_leaving() each round.
  void begin_leaving(NetWorker& taker) noexcept;
  /// It may not be asked to leave before `at_ns`.
  void stay_until(std::uint64_t at_ns) noexcept { settled_ns_ = at_ns; }
  /// The worker that it leaves for; null: it stays with this worker.
  [[nodiscard]] NetWorker* taker() const noexcept { return taker_; }
  /// Called at the end of each round while it leaves. True: it rests, and leave() may follow. It may have
  /// given up leaving, too: see taker().
  [[nodiscard]] bool go_on_leaving();
  /// Returns all that the taker needs of the connection, which rests. For this worker it is closed.
  [[nodiscard]] std::unique_ptr<MovedConnection> leave();

  // --- What it does with memory that others need ---

  /// When memory is short, a client that did nothing for so long may be closed.
  static constexpr std::uint64_t kIdleWhereShortNs = 1'000'000'000;
  /// Whether the client has read nothing, or sent nothing, for a while.
  [[nodiscard]] bool takes_nothing(std::uint64_t now_ns) const noexcept;
  [[nodiscard]] bool sends_nothing(std::uint64_t now_ns,
                                   std::uint64_t for_ns = kIdleWhereShortNs) const noexcept;
  /// Whether its handshake is done and it has been idle for at least a second.
  [[nodiscard]] bool idles_with_tls(std::uint64_t now_ns) const noexcept;

  /// Bytes held of requests that have not come whole.
  [[nodiscard]] std::size_t unfinished_bytes() const noexcept {
    return session_->unfinished_bytes() + socket_.held_bytes();
  }
  /// Whether its socket is closed, or belongs to another worker. Then the session is gone.
  [[nodiscard]] bool closed() const noexcept { return session_.ended(); }
  /// Whether no list refers to it any more.
  [[nodiscard]] bool deletable() const noexcept { return closed() && !links.ready && !links.waits_to_send; }

 private:
  /// So that a few handshakes fill a round.
  static constexpr std::size_t kHandshakeRequests = 64;

  /// Since when the client could have sent something and did not.
  [[nodiscard]] std::uint64_t silent_since_ns() const noexcept {
    return std::max(client_.read_ns.load(std::memory_order_relaxed), unread_ns_);
  }
  /// Only while it is open.
  [[nodiscard]] bool is(life_stage stage) const noexcept { return session_->entry().life.is(stage); }
  void give_turn();
  void read(Session& session);
  void take_bytes(Session& session, std::size_t bytes, std::size_t direct);
  /// settle() before a handshake has ended, and once no reply can be written any more.
  [[nodiscard]] bool settle_unanswered(Session& session);
  [[nodiscard]] bool settle_greeting();
  [[nodiscard]] bool over_without_replies() const noexcept;
  /// Whether the client is gone although the full journal stops us from reading its end of input.
  [[nodiscard]] bool over_unread();
  [[nodiscard]] bool arm();
  void begin_output_wait();
  void await_output();
  void end_output_wait();
  void mark_output();
  void note_unread() noexcept;
  void note_sent(std::size_t bytes);
  void flush();
  [[nodiscard]] std::size_t send(std::size_t left, std::size_t most);
  void stay();
  /// `reason`: why the connection was closed; empty: it was opened.
  void tell_watchers(std::string_view reason);
  void trace_request(std::string_view bytes);

  // --- TLS: connection_tls.cpp ---

  [[nodiscard]] bool begin_tls();
  void begin_handshake();
  void shake_hands();
  void give_up_handshake(const std::string& why);
  /// Closes: it is counted among TLS connections, or handshakes, no more.
  void leave_tls();

  ConnectionHost& net_;
  const Door* door_;  ///< the door that it was accepted at
  ClientSocket socket_;
  Client& client_;             ///< its entry in the client table
  SteppedSession session_;     ///< ended once the connection is closed
  bool reset_ = false;         ///< no reply reaches the client any more
  bool output_waits_ = false;  ///< the socket is full; waits for the client to read
  /// Most reads while the daemon ends: a client that never stops sending must not hold up the end.
  static constexpr std::uint32_t kDrainReads = 64;
  std::uint32_t drain_reads_left_ = kDrainReads;
  std::string_view ends_for_ = "normal";  ///< why it ends, for watchers, unless the session ended in error
  std::uint64_t sent_ns_ = 0;             ///< when the socket last took bytes, or became full
  std::uint64_t unread_ns_ =
      0;  ///< when the session last wanted no input, a reply was held, or the handshake began
  std::uint64_t input_since_ns_ = 0;   ///< since when input waits for room in the journal; 0: none waits
  NetWorker* taker_ = nullptr;         ///< the worker that it leaves for; null: none
  std::uint64_t leaves_ns_ = 0;        ///< since when it leaves
  std::uint64_t settled_ns_ = 0;       ///< it stays here until then
  std::uint32_t requests_before_ = 0;  ///< taken while it was with other workers
  WorkNote noted_;                     ///< as of note_work()
  HeldOutput held_;
  std::uint64_t not_read_since_ns_ = 0;  ///< since when it is not read, for the journal
};

}  // namespace mxkv::server
