// What the connections of one worker share, and what they tell it: which of them are ready, wait, leave, or are
// closed. NetWorker has the rounds in which it acts on that.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "config/options.hpp"
#include "runtime/scheduler/worker.hpp"
#include "server/commit/commit_gate.hpp"
#include "server/net/connection/client_table.hpp"
#include "server/net/connection/second_chance.hpp"
#include "server/net/connection/send_turns.hpp"
#include "server/net/connection/shortlist.hpp"
#include "server/net/observe/net_counters.hpp"
#include "server/net/observe/request_sampler.hpp"
#include "server/net/observe/run_delay.hpp"
#include "server/net/observe/warning_sink.hpp"
#include "server/net/session/session_host.hpp"
#include "server/net/sockets/socket_events.hpp"

namespace mxkv::server {

class ClientSocket;
class ClusterStore;
class Connection;
class Feed;
class NetWorker;
struct TlsFacts;

/// State that the network sides of all workers share.
struct NetShared {
  WarningSink& log;
  ConnectionCounters connections{};
  SlowLog slow{};
  CommitGate* disk = nullptr;       ///< null: no journal
  ClusterStore* cluster = nullptr;  ///< null: this node serves all keys
  Feed* feed = nullptr;             ///< null: no range can be watched
  config::BalanceOptions balance{.mode = config::balance_mode::off};
  ClientTable clients{};
  std::atomic<std::uint64_t> trimmed_ns{0};  ///< when the system's heap was last trimmed; relaxed: a rate
  std::vector<NetWorker*> workers{};         ///< by number; connections move among these
  std::deque<RunDelay> delays{};             ///< of those; empty: workers never wait for a CPU
};

/// Thread-safety: owner worker only, unless a function says otherwise.
class ConnectionHost {
 public:
  static constexpr std::size_t kReadBytes = std::size_t{16} << 10U;
  static constexpr std::size_t kLeastReadBytes =
      BlockPool::kSmallBlockRoom;                     ///< if the bytes that are not used must be held
  static constexpr std::size_t kReadHeadroom = 4096;  ///< before the bytes read, for the beginning of a line

  ConnectionHost(const ConnectionHost&) = delete;
  ConnectionHost& operator=(const ConnectionHost&) = delete;

  /// Connections that the worker has, or is about to get. Any thread.
  [[nodiscard]] std::atomic<std::uint32_t>& load() noexcept { return load_; }
  /// Any thread.
  [[nodiscard]] const NetCounters& counters() const noexcept { return counters_; }
  [[nodiscard]] NetCounters& counters() noexcept { return counters_; }
  [[nodiscard]] WarningSink& log() const noexcept { return shared_.log; }
  [[nodiscard]] ClientTable& clients() noexcept { return shared_.clients; }
  [[nodiscard]] Client& client_of(int socket) { return shared_.clients.of(socket, now_ns(), limits_); }
  [[nodiscard]] SocketEvents<Connection>& events() noexcept { return events_; }
  [[nodiscard]] SessionHost& host() noexcept { return host_; }
  [[nodiscard]] ConnectionTable& directory() noexcept { return host_.directory; }
  [[nodiscard]] const config::LimitOptions& limits() const noexcept { return limits_; }
  [[nodiscard]] std::uint64_t now_ns() const noexcept { return host_.worker.now_ns(); }
  /// The buffer for one read; kReadHeadroom bytes before it are free, too.
  [[nodiscard]] std::span<char> read_buffer() noexcept {
    return std::span{read_buffer_}.subspan(kReadHeadroom, kReadBytes);
  }
  /// Bytes that one read may take: fewer, if they are likely to be held.
  [[nodiscard]] std::size_t most_read() noexcept {
    const MemoryShare& share = host_.input.share();
    return share.held() <= share.bytes() / 8 ? kReadBytes : kLeastReadBytes;
  }
  /// A connection's input was refused.
  void refused_input();
  /// Gives the connection a turn in this or the next round.
  void make_ready(Connection& connection) noexcept;
  /// The same, but the round may come later.
  void wait_for_memory(Connection& connection) noexcept;
  /// A connection begins or stops waiting for its socket to take output.
  void sending_waits(bool begins) noexcept;
  [[nodiscard]] SendTurns& send_turns() noexcept { return send_turns_; }
  /// The connection has output left over: it sends on in its turn.
  void wait_to_send(Connection& connection);
  /// How often a lack of memory made the worker look at all its connections. For tests.
  [[nodiscard]] std::uint64_t walks() const noexcept { return walks_; }

  // --- TLS ---

  /// Counts TLS connections: a handshake succeeded, a connection closes after its handshake, its TLS memory
  /// is freed, a connection has no handshake under way any more.
  void shook_hands(Client& client, const std::shared_ptr<const TlsFacts>& facts);
  void ended_tls() noexcept;
  void freed_tls() noexcept { ++tls_left_; }
  void shakes_hands_no_more() noexcept;
  /// Whether another connection may speak TLS. If TLS connections have used up their share of the memory
  /// limit, closes the one that has been idle for longest.
  [[nodiscard]] bool has_tls_room();
  /// The socket keeps its TLS buffers. Returns the bytes of buffers that other sockets gave back for it.
  [[nodiscard]] std::size_t keep_tls_buffers(ClientSocket& socket);
  void keeps_no_tls_buffers(ClientSocket& socket) noexcept;

  // --- The disk ---

  /// Null: there is no journal.
  [[nodiscard]] CommitGate* disk() const noexcept { return shared_.disk; }
  [[nodiscard]] bool reads_paused() const noexcept { return reads_paused_; }
  /// The connection has output that waits for the disk, until reached_disk() releases all of it.
  void holds_output(Connection& connection);
  /// The connection is not read until journal_has_room().
  void wait_for_journal(Connection& connection);
  /// A connection is about to close: removes it from the lists of the two functions above.
  void leave_gate(Connection& connection, bool holds, bool waits);

  // --- The end of a connection ---

  /// A connection is about to close its socket, or to go to another worker.
  void unlist(Connection& connection) noexcept;
  /// A connection that was to leave for another worker is about to close.
  void leaves_no_more(Connection& connection);
  /// A connection was closed.
  void delete_later(Connection& connection);

 protected:
  /// The arguments are as in SessionHost. All outlive this.
  ConnectionHost(NetShared& shared, runtime::Worker& worker, SessionStore& store, ConnectionTable& directory,
                 BlockPool& input, const config::LimitOptions& limits, AdminSource& admin,
                 Credentials& credentials);
  ~ConnectionHost() = default;

  void link(Connection& connection) noexcept;
  void delete_closed();
  /// The TLS connection that is the first to close for another one; null: none is idle.
  [[nodiscard]] Connection* idlest_with_tls();
  /// Tells the disk's gate whether any connection waits.
  void note_waits();

  NetShared& shared_;
  config::LimitOptions limits_;  ///< its own copy, since limits change while the daemon runs
  SessionHost host_;
  SocketEvents<Connection> events_;
  NetCounters counters_;
  std::atomic<std::uint32_t> load_{0};  // relaxed: a hint where to put the next connection
  Connection* first_ready_ = nullptr;
  bool ready_act_ = false;  ///< a ready connection has more to do than wait for memory
  Connection* last_ready_ = nullptr;
  Connection* connections_ = nullptr;
  std::vector<Connection*> leaving_;  ///< to go to another worker as soon as they rest
  std::vector<Connection*> closed_;   ///< may still be in the list of ready connections
  std::size_t sending_waits_ = 0;
  SendTurns send_turns_;
  SecondChance<ClientSocket> keep_tls_buffers_;
  std::uint64_t next_tls_look_ns_ = 0;  ///< of the next search for an idle TLS connection
  Shortlist<std::pair<bool, std::uint64_t>> idle_with_tls_;  ///< never used first, then idle for longest
  Shortlist<std::size_t> most_input_;                        ///< those with the most unfinished input
  std::uint64_t walks_ = 0;
  std::size_t tls_left_ = 0;                  ///< TLS connections and handshakes ended since the last trim
  std::size_t handshakes_ = 0;                ///< under way, or waiting for their first bytes
  std::vector<Connection*> held_;             ///< their output waits for the disk
  std::vector<Connection*> journal_waiters_;  ///< not read, since the journal is full
  bool reads_paused_ = false;                 ///< as of this round
  bool told_waits_ = false;                   ///< the gate knows that some connection waits
  std::array<char, kReadHeadroom + kReadBytes> read_buffer_;
};

}  // namespace mxkv::server
