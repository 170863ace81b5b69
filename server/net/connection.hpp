// One client's socket: moves bytes between it and its session.
//
// Readiness only marks a connection; reading and sending happen in the worker's rounds: one read of what is
// there, one send of all that was answered. It waits for the socket to become writable only when the kernel
// would not take everything, and for readable only while the session wants input.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "server/net/asio.hpp"
#include "server/net/handler_memory.hpp"
#include "server/net/store_session.hpp"

namespace mxkv::server {

class NetWorker;

/// Thread-safety: owner worker only.
class Connection {
 public:
  /// Takes over `socket`, which is non-blocking.
  Connection(NetWorker& net, int socket);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Its turn in a round: goes on where the session stopped, reads once.
  void take_turn();
  /// The end of a round in which something was answered: sends, closes when all is done.
  void settle();
  /// Operations ended that the session waited for.
  void resume();
  /// There may be room for the page that the session waits for.
  void resume_starved();
  /// Answers what had arrived, then closes.
  void drain();
  /// Closes it if it is over its times at `now_ns`.
  void check_times(std::uint64_t now_ns);
  /// Its unread replies, or its unfinished input, have to go: counts that and closes it.
  void close_for_output();
  void close_for_input();
  /// Drops the connection; nothing more is sent.
  void close();

  [[nodiscard]] bool closed() const noexcept { return closed_; }
  /// Whether no operation refers to it any more.
  [[nodiscard]] bool deletable() const noexcept {
    return closed_ && !read_armed_ && !write_armed_ && !ready_;
  }

 private:
  friend class NetWorker;  // its lists

  /// Whether the client has taken nothing, or sent nothing, for a while.
  [[nodiscard]] bool takes_nothing(std::uint64_t now_ns) const noexcept;
  [[nodiscard]] bool sends_nothing(std::uint64_t now_ns) const noexcept;

  void read();
  void arm();
  void arm_read();
  void arm_write();
  void flush();

  NetWorker& net_;
  Descriptor socket_;
  std::optional<Session> session_;
  bool ready_ = false;     ///< in the worker's list of those whose turn comes
  bool readable_ = false;  ///< there may be bytes in the kernel
  bool read_armed_ = false;
  std::atomic<bool> write_armed_{false};  ///< relaxed will do: others only look
  bool sends_more_ = false;               ///< in its next turn
  bool closed_ = false;
  bool draining_ = false;
  std::uint32_t drain_reads_left_ = 0;
  std::uint64_t sent_ns_ = 0;              ///< when the socket last took bytes, or was found full
  std::uint64_t unread_ns_ = 0;            ///< when the session was last seen not to want any
  std::atomic<std::uint64_t> read_ns_{0};  ///< when bytes last came; relaxed: others only look
  Connection* next_ready_ = nullptr;
  Connection* next_ = nullptr;  ///< all connections of the worker
  Connection* previous_ = nullptr;
  HandlerMemory read_memory_;
  HandlerMemory write_memory_;
};

}  // namespace mxkv::server
