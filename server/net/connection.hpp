// One client's socket: moves bytes between it and its session.
//
// Readiness only marks a connection (socket_events.hpp). Reading and sending happen in the worker's rounds: one
// read of what is there, one send of all that was answered. It asks to be told when the socket takes output
// only where the kernel would not take everything.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "server/net/client_table.hpp"
#include "server/net/door.hpp"
#include "server/net/moved_connection.hpp"
#include "server/net/second_chance.hpp"
#include "server/net/socket_events.hpp"
#include "server/net/stepped_session.hpp"
#include "server/reply/output_gate.hpp"

namespace mxkv::server {

class NetWorker;
class TlsStream;
struct TlsFacts;

/// What becomes of a connection. It may begin with `greeting`, then it only goes forward, and may leave out
/// `draining`.
enum class connection_stage : std::uint8_t {
  serving,   ///< it is read until the client leaves
  draining,  ///< the daemon ends: what has arrived is answered
  closed,    ///< its socket is closed, or another worker's; its session is gone
  greeting,  ///< hands are shaken for TLS
};

/// Thread-safety: owner worker only.
class Connection final : public ConnectionOwner {
 public:
  /// Takes over `socket`, which is non-blocking and came by `door`.
  Connection(NetWorker& net, int socket, const Door& door);
  /// Goes on with one that left another worker.
  Connection(NetWorker& net, MovedConnection& moved);
  ~Connection();

  /// Something became of its socket.
  void became_ready(Readiness now);
  /// Its turn in a round: goes on where the session stopped, reads once.
  void take_turn();
  /// Requests that were started and have not ended; of a closed connection none. A handshake takes as long as some.
  [[nodiscard]] std::size_t in_flight() const noexcept {
    if (stage_ >= connection_stage::closed) [[unlikely]] {
      return tls_ != nullptr ? kHandshakeRequests : 0;
    }
    return session_->entry().order.in_flight();
  }
  /// The end of a round in which it was marked: sends, closes it when all is done, says what it waits for. Returns
  /// whether anything but waiting came of it.
  bool settle();
  /// Operations ended that the session waited for.
  void resume() override;
  [[nodiscard]] std::string client_name() const override { return client_.peer; }
  [[nodiscard]] bool has_left(std::size_t end) const override;
  [[nodiscard]] bool take_name(std::string_view name) override;
  void logged_in(const std::string& user) override;
  /// All up to `durable` is on disk: sends at the end of this round what waited for it.
  void reached_disk(std::uint64_t durable);
  /// Replies that are held, or input that is not read, are given up: the client gets a last line where one can stand.
  void give_up_waiting();
  /// The journal has room again: goes on reading.
  void journal_has_room();
  /// There may be room for what the session waits for.
  void give_room();
  /// There is room for the large value or the handshake that it waits with.
  void admitted();
  /// Whether its large value or its handshake makes no progress at `now_ns`.
  [[nodiscard]] bool stalls(std::uint64_t now_ns) const noexcept;
  /// The login that the session waits for may have been judged: goes on. False: it was not.
  bool judged();
  /// There may be room in its share of a second; false: there is none yet.
  [[nodiscard]] bool rate_has_room();
  /// Users, or rates, have changed: closes it if its user is to leave. Returns whether it did.
  bool review();
  /// Answers what had arrived, then closes.
  void drain();
  /// Closes it if it is over its times at `now_ns`.
  void check_times(std::uint64_t now_ns);
  /// Its unread replies, or its unfinished input, have to go: counts that and closes it.
  void close_for_output();
  void close_for_input();
  /// Drops the connection; nothing more is sent.
  void close();

  // --- To another worker: connection_moves.cpp ---

  /// What it did since note_work().
  [[nodiscard]] std::uint64_t work() const noexcept;
  void note_work() noexcept;
  /// Whether it may be told to leave at `now_ns`.
  [[nodiscard]] bool movable(std::uint64_t now_ns) const noexcept;
  /// Whether it may only go to workers of its listener's node.
  [[nodiscard]] bool confined() const noexcept { return door_->node.has_value(); }
  /// It is to leave for `taker` when it rests; does what it can for that. Begins with a call for each round.
  void begin_leaving(NetWorker& taker) noexcept;
  enum class leaving : std::uint8_t { waits, rests, stays };
  /// How far it is with that at the end of a round. `stays`: it goes on here.
  [[nodiscard]] leaving go_on_leaving();
  /// It rests: all that the taker needs. It is closed for this worker.
  [[nodiscard]] std::unique_ptr<MovedConnection> leave();

  /// Whether it has shaken hands and nothing of it is under way, for a second at least.
  [[nodiscard]] bool idles_with_tls(std::uint64_t now_ns) const noexcept;

  /// Among its worker's connections whose TLS keeps its buffers.
  SecondChancePlace place;

  /// Bytes that are kept of what the client has begun to send.
  [[nodiscard]] std::size_t unfinished_bytes() const noexcept {
    return session_->unfinished_bytes() + tls_held_;
  }
  [[nodiscard]] bool closed() const noexcept { return stage_ == connection_stage::closed; }
  /// Whether nothing refers to it any more.
  [[nodiscard]] bool deletable() const noexcept { return closed() && !listed_; }

 private:
  friend class NetWorker;  // its lists
  /// A few handshakes fill a round.
  static constexpr std::size_t kHandshakeRequests = 64;
  /// Where memory is short, a client that did nothing for so long has to go.
  static constexpr std::uint64_t kIdleWhereShortNs = 1'000'000'000;

  /// Whether the client has taken nothing, or sent nothing, for a while.
  [[nodiscard]] bool takes_nothing(std::uint64_t now_ns) const noexcept;
  [[nodiscard]] bool sends_nothing(std::uint64_t now_ns,
                                   std::uint64_t for_ns = kIdleWhereShortNs) const noexcept;

  /// Since when its client could have sent something, and did not.
  [[nodiscard]] std::uint64_t silent_since_ns() const noexcept {
    return std::max(client_.read_ns.load(std::memory_order_relaxed), unread_ns_);
  }
  void read(Session& session);
  void take_bytes(Session& session, std::size_t bytes, std::size_t direct);
  [[nodiscard]] bool settle_greeting();
  [[nodiscard]] bool over_without_replies() const noexcept;
  /// Whether its client is gone while the journal keeps it from being read.
  [[nodiscard]] bool over_unread();
  [[nodiscard]] bool arm();
  void begin_output_wait();
  void await_output();
  void end_output_wait();
  void mark_output();
  void say_last(std::string_view line);
  void note_unread() noexcept;
  void note_sent(std::size_t bytes);
  void flush();
  void stay();
  /// `reason`: why it was closed; empty: it came.
  void tell_watchers(std::string_view reason);
  void trace_request(std::string_view bytes);

  // --- TLS: connection_tls.cpp ---

  [[nodiscard]] bool begin_tls();
  void begin_handshake();
  void shake_hands();
  void give_up_handshake(const std::string& why);
  void read_tls(Session& session);
  /// Whether the client sends nothing more, and nothing that it sent is unread.
  [[nodiscard]] bool tls_ended();
  [[nodiscard]] std::span<const char> next_record(std::size_t most);
  [[nodiscard]] std::size_t send_record(std::size_t most);
  void end_tls(bool said_all);
  /// OpenSSL is about to use its buffers; true: for a request that comes.
  void keep_buffers(bool comes);
  /// Returns how many bytes less it takes; the budget has still to be told.
  [[nodiscard]] std::size_t give_buffers();
  void hold(std::size_t record, std::size_t own);

  NetWorker& net_;
  const Door* door_;                ///< that it came by
  std::unique_ptr<TlsStream> tls_;  ///< null: it is sent as it is, or has not sent anything
  int socket_;
  Client& client_;          ///< as people ask for it
  SteppedSession session_;  ///< ended once it is closed
  connection_stage stage_;
  bool listed_ = false;        ///< in the worker's list of connections whose turn comes
  bool readable_ = false;      ///< there may be bytes in the kernel
  bool read_on_ = false;       ///< also behind a read that is short
  bool reset_ = false;         ///< no reply reaches the client any more
  bool output_waits_ = false;  ///< for the client to take some
  std::uint32_t drain_reads_left_ = 0;
  std::string_view ends_for_ =
      "normal";                ///< what watchers are told of its end, unless its session ended in error
  std::uint64_t sent_ns_ = 0;  ///< when the socket last took bytes, or was found full
  std::uint64_t unread_ns_ =
      0;  ///< when the session was last seen not to want any, a reply was held, or hands were shaken
  std::uint64_t input_since_ns_ = 0;   ///< since when input waits for the journal to have room; 0: none does
  NetWorker* taker_ = nullptr;         ///< where it is to go to, if anywhere
  std::uint64_t leaves_ns_ = 0;        ///< since when
  std::uint64_t settled_ns_ = 0;       ///< until when it stays
  std::uint32_t requests_before_ = 0;  ///< taken with other workers
  WorkNote noted_;                     ///< as of note_work()
  OutputGate gate_;                    ///< output that waits for the disk
  std::size_t judged_ = 0;             ///< of output up to here it is known whether it waits
  bool judged_whole_ = true;           ///< no reply was half written there
  bool held_whole_ = false;            ///< the same of where output is held
  std::uint64_t held_since_ns_ = 0;    ///< or when some of it left last
  std::uint64_t not_read_since_ns_ = 0;        ///< for the journal
  std::size_t tls_held_ = 0;                   ///< bytes of a record that has not come whole
  std::size_t tls_own_ = 0;                    ///< bytes that TLS takes besides
  std::shared_ptr<const TlsFacts> tls_facts_;  ///< null: no TLS, or not yet
  Connection* next_ready_ = nullptr;
  Connection* next_ = nullptr;  ///< all connections of the worker
  Connection* previous_ = nullptr;
};

}  // namespace mxkv::server
