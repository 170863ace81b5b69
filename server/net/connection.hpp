// One client's socket: moves bytes between it and its session.
//
// Readiness only marks a connection (socket_events.hpp). Reading and sending happen in the worker's rounds: one
// read of what is there, one send of all that was answered. It asks to be told when the socket takes output
// only where the kernel would not take everything.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "server/net/connection_facts.hpp"
#include "server/net/moved_connection.hpp"
#include "server/net/session.hpp"
#include "server/net/socket_events.hpp"
#include "server/reply/output_gate.hpp"

namespace mxkv::server {

class NetWorker;

/// What becomes of a connection. It only goes forward, and may leave out `draining`.
enum class connection_stage : std::uint8_t {
  serving,   ///< it is read until the client leaves
  draining,  ///< the daemon ends: what has arrived is answered
  closed,    ///< its socket is closed, or another worker's; its session is gone
};

/// Thread-safety: owner worker only.
class Connection final : public ConnectionOwner {
 public:
  /// Takes over `socket`, which is non-blocking.
  Connection(NetWorker& net, int socket);
  /// Goes on with one that left another worker.
  Connection(NetWorker& net, const MovedConnection& moved);
  ~Connection();

  /// Something became of its socket.
  void became_ready(Readiness now);
  /// Its turn in a round: goes on where the session stopped, reads once.
  void take_turn();
  /// Requests that were started and have not ended; of a closed connection none.
  [[nodiscard]] std::size_t in_flight() const noexcept {
    return closed() ? 0 : session_->entry().order.in_flight();
  }
  /// The end of a round in which something was answered: sends, closes when all is done.
  void flush_and_arm();
  /// Operations ended that the session waited for.
  void resume() override;
  [[nodiscard]] std::string client_name() const override { return facts_of_socket(socket_).peer; }
  /// All up to `durable` is on disk: sends at the end of this round what waited for it.
  void reached_disk(std::uint64_t durable);
  /// The journal has room again: goes on reading.
  void journal_has_room();
  /// There may be room for what the session waits for.
  void give_room();
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
  /// It is to leave for `taker` when it rests; does what it can for that. Begins with a call for each round.
  void begin_leaving(NetWorker& taker) noexcept;
  enum class leaving : std::uint8_t { waits, rests, stays };
  /// How far it is with that at the end of a round. `stays`: it goes on here.
  [[nodiscard]] leaving go_on_leaving();
  /// It rests: all that the taker needs. It is closed for this worker.
  [[nodiscard]] std::unique_ptr<MovedConnection> leave();

  [[nodiscard]] bool closed() const noexcept { return stage_ == connection_stage::closed; }
  /// Whether nothing refers to it any more.
  [[nodiscard]] bool deletable() const noexcept { return closed() && !listed_; }

 private:
  friend class NetWorker;  // its lists

  /// Whether the client has taken nothing, or sent nothing, for a while.
  [[nodiscard]] bool takes_nothing(std::uint64_t now_ns) const noexcept;
  [[nodiscard]] bool sends_nothing(std::uint64_t now_ns) const noexcept;

  void read();
  void take_bytes(std::size_t bytes, std::size_t direct);
  void arm();
  void begin_output_wait();
  void end_output_wait();
  void mark_output();
  void flush();
  void stay();

  NetWorker& net_;
  int socket_;
  std::optional<Session> session_;  ///< none once it is closed
  connection_stage stage_ = connection_stage::serving;
  bool listed_ = false;                    ///< in the worker's list of connections whose turn comes
  bool readable_ = false;                  ///< there may be bytes in the kernel
  bool read_on_ = false;                   ///< also behind a read that is short
  std::atomic<bool> output_waits_{false};  ///< for the client to take some; other threads only read it
  std::uint32_t drain_reads_left_ = 0;
  std::uint64_t sent_ns_ = 0;              ///< when the socket last took bytes, or was found full
  std::uint64_t unread_ns_ = 0;            ///< when the session was last seen not to want any
  NetWorker* taker_ = nullptr;             ///< where it is to go to, if anywhere
  std::uint64_t leaves_ns_ = 0;            ///< since when
  std::uint64_t settled_ns_ = 0;           ///< until when it stays
  std::uint64_t read_bytes_ = 0;           ///< ever
  WorkNote noted_;                         ///< as of note_work()
  bool confined_ = false;                  ///< to workers of its listener's node
  OutputGate gate_;                        ///< output that waits for the disk
  std::size_t judged_ = 0;                 ///< of output up to here it is known whether it waits
  std::atomic<std::uint64_t> read_ns_{0};  ///< when bytes last came; relaxed: other threads only read it
  Connection* next_ready_ = nullptr;
  Connection* next_ = nullptr;  ///< all connections of the worker
  Connection* previous_ = nullptr;
};

}  // namespace mxkv::server
