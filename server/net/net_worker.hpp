// The sockets of one worker, and the poller that connects them to the runtime.
//
// A round has three parts. poll() asks the kernel which connections are ready and gives each in turn one
// read, and spawns all of its requests. Then the runtime runs the tasks. end_turn() sends, once for each
// connection with replies. So a batch gathers the requests of many connections before the first look-up, and
// replies leave in few system calls. With deep pipelines, a few connections fill a round. block() only learns
// that a socket is ready: it runs outside of the worker's epoch, where no task may be made.
//
// Each round asks the kernel once about all connections. Asio's context, which has the listeners and timers,
// is polled only at intervals. To sleep, the worker waits in the context for all of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/scheduler/poller.hpp"
#include "runtime/scheduler/runtime.hpp"
#include "server/commit/commit_gate.hpp"
#include "server/net/admin_source.hpp"
#include "server/net/asio.hpp"
#include "server/net/balancer.hpp"
#include "server/net/client_table.hpp"
#include "server/net/connection.hpp"
#include "server/net/connection_facts.hpp"
#include "server/net/credentials.hpp"
#include "server/net/descriptor_shortage.hpp"
#include "server/net/forwarder.hpp"
#include "server/net/handler_memory.hpp"
#include "server/net/listener.hpp"
#include "server/net/net_counters.hpp"
#include "server/net/run_delay.hpp"
#include "server/net/socket_events.hpp"
#include "server/store/store.hpp"

namespace mxkv::server {

class NetWorker;

/// State that the network sides of all workers share.
struct NetShared {
  WarningSink& log;
  ConnectionCounters connections{};
  SlowLog slow{};
  CommitGate* disk = nullptr;       ///< null: no journal
  ClusterStore* cluster = nullptr;  ///< null: this node serves all keys
  config::BalanceOptions balance{.mode = config::balance_mode::off};
  ClientTable clients{};
  std::atomic<std::uint64_t> trimmed_ns{0};  ///< when the system's heap was last trimmed; relaxed: a rate
  std::vector<NetWorker*> workers{};         ///< by number; connections move among these
  std::deque<RunDelay> delays{};             ///< of those; empty: workers never wait for a CPU
};

/// Thread-safety: owner worker only, unless a function says otherwise.
class NetWorker final : public runtime::Poller, private InputRelief, private LoginBell {
 public:
  static constexpr std::size_t kReadBytes = std::size_t{16} << 10U;
  static constexpr std::size_t kLeastReadBytes =
      BlockPool::kSmallBlockRoom;                     ///< if the bytes that are not used must be held
  static constexpr std::size_t kReadHeadroom = 4096;  ///< before the bytes read, for the beginning of a line

  /// The arguments are as in SessionHost. All outlive this.
  NetWorker(NetShared& shared, runtime::Worker& worker, Store& store, ConnectionTable& directory,
            BlockPool& input, const config::LimitOptions& limits, AdminSource& admin,
            Credentials& credentials, const config::StatsOptions& stats);
  ~NetWorker() override;
  NetWorker(const NetWorker&) = delete;
  NetWorker& operator=(const NetWorker&) = delete;

  bool poll(runtime::Worker& worker) override;
  bool end_turn(runtime::Worker& worker) override;
  void block(runtime::Worker& worker, std::uint64_t timeout_ns) override;
  void wake() noexcept override;

  /// Takes over a socket that is counted in ConnectionCounters::open and was accepted at `door`.
  void adopt(int socket, const Door& door = kUsualDoor);
  /// Takes over a connection that left another worker.
  void take_in(std::unique_ptr<MovedConnection> moved);
  /// All its connections move to `taker` as soon as they rest. For tests.
  void give_all(NetWorker& taker);
  /// Takes over a listening socket; it accepts when the worker runs. Start-up only.
  void listen(int socket, SocketReceiver& receiver);
  /// The TLS of this node's peer listener, which it also uses to connect to other nodes. Start-up only.
  void set_peer_tls(const TlsDoor* tls) noexcept { forwarder_->set_tls(tls); }
  /// The limits hold for all connections from their next request on. Connections over a lowered limit stay.
  void set_limits(const config::LimitOptions& limits);
  /// Users or rates have changed. Closes the connections whose users must leave, and returns how many.
  std::size_t review();
  /// Sets whether the worker gives connections away, from now on.
  void set_balance(config::balance_mode mode) noexcept { balancer_.set_mode(mode); }
  [[nodiscard]] WarningSink& log() const noexcept { return shared_.log; }
  /// Watchers have lines to send.
  void pull_watched();
  /// Stops listening, answers the requests that have arrived, closes all connections.
  void drain();

  /// Connections that the worker has, or is about to get. Any thread.
  [[nodiscard]] std::atomic<std::uint32_t>& load() noexcept { return load_; }
  /// Any thread.
  [[nodiscard]] const NetCounters& counters() const noexcept { return counters_; }

  // --- Called by its connections ---

  [[nodiscard]] ClientTable& clients() noexcept { return shared_.clients; }
  [[nodiscard]] Client& client_of(int socket) { return shared_.clients.of(socket, now_ns(), limits_); }
  [[nodiscard]] SocketEvents<Connection>& events() noexcept { return events_; }
  [[nodiscard]] SessionHost& host() noexcept { return host_; }
  [[nodiscard]] ConnectionTable& directory() noexcept { return host_.directory; }
  [[nodiscard]] const config::LimitOptions& limits() const noexcept { return limits_; }
  [[nodiscard]] NetCounters& counters() noexcept { return counters_; }
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
  /// Counts TLS connections: a handshake succeeded, a connection closes after its handshake, its TLS memory
  /// is freed, a connection has no handshake under way any more.
  void shook_hands(Connection& connection);
  void ended_tls() noexcept;
  void freed_tls() noexcept { ++tls_left_; }
  void shakes_hands_no_more() noexcept;
  /// Whether another connection may speak TLS. If TLS connections have used up their share of the memory
  /// limit, closes the one that has been idle for longest.
  [[nodiscard]] bool has_tls_room();
  /// The connection keeps its TLS buffers. Returns the bytes of buffers that other connections gave back for
  /// it.
  [[nodiscard]] std::size_t keep_tls_buffers(Connection& connection);
  void keeps_no_tls_buffers(Connection& connection) noexcept { keep_tls_buffers_.remove(connection); }
  /// A connection begins or stops waiting for its socket to take output.
  void sending_waits(bool begins);
  /// Null: there is no journal.
  [[nodiscard]] CommitGate* disk() const noexcept { return shared_.disk; }
  [[nodiscard]] bool reads_paused() const noexcept { return reads_paused_; }
  /// The connection has output that waits for the disk, until reached_disk() releases all of it.
  void holds_output(Connection& connection);
  /// The connection is not read until journal_has_room().
  void wait_for_journal(Connection& connection);
  /// A connection is about to close: removes it from the lists of the two functions above.
  void leave_gate(Connection& connection, bool holds, bool waits);
  /// A connection is about to close its socket.
  void unlist(Connection& connection);
  /// A connection that was to leave for another worker is about to close.
  void leaves_no_more(Connection& connection);
  /// A connection was closed.
  void delete_later(Connection& connection);

 private:
  static constexpr std::size_t kMostTaken = 4;  ///< takes of events in a round, so that the round ends
  /// A round takes no further connection at so many requests in flight. They are enough to hide each one's
  /// memory latency, and few enough that their tasks, items and replies stay in the second-level cache until
  /// they are sent.
  static constexpr std::size_t kRequestsARound = 256;
  /// Between two searches for connections that have waited for the disk for too long.
  static constexpr std::uint64_t kLateLookNs = 100'000'000;

  void link(Connection& connection) noexcept;
  void unlink(Connection& connection) noexcept;
  void adopted(Connection& connection);
  [[nodiscard]] static std::vector<BalancePeer> balance_peers(runtime::Runtime& runtime,
                                                              const NetShared& shared);
  void balance();
  void choose_leaving(const Balancer::Advice& advice);
  [[nodiscard]] bool let_leave();
  void hand_over(Connection& connection, NetWorker& taker);
  void take_events();
  void wait_for_events();
  void arm_timer();
  void arm_sweep_timer();
  void check_times();
  /// Returns after how long to call it again; kForever: not before more TLS connections have ended.
  [[nodiscard]] std::uint64_t trim_system_memory();
  void give_page_room();
  void give_rate_room();
  void tell_judged();
  void login_judged() noexcept override;
  [[nodiscard]] bool admit(Admission& admission, std::uint64_t room);
  void begin_disk_round();
  [[nodiscard]] bool may_park();
  void park() noexcept;
  void close_held();
  void give_up_late();
  void note_waits();
  void tell_of_closed();
  [[nodiscard]] bool relieve(ConnectionState& asking) override;
  void make_room();
  template <class Bytes>
  [[nodiscard]] std::vector<std::pair<std::size_t, Connection*>> holders(const Bytes& bytes) const;
  void delete_closed();

  NetShared& shared_;
  Store& store_;
  config::LimitOptions limits_;  ///< its own copy, since limits change while the daemon runs
  SessionHost host_;
  asio::io_context context_;
  asio::executor_work_guard<Executor> context_stays_;  ///< the context runs even if nothing waits in it
  SocketEvents<Connection> events_;
  Descriptor events_wait_;  ///< waits for events_ while the worker sleeps
  bool events_awaited_ = false;
  std::uint64_t next_context_ns_ = 0;
  Timer timer_;
  Timer sweep_timer_;
  std::unique_ptr<Forwarder> forwarder_;  ///< null: no cluster
  HandlerMemory events_memory_;
  HandlerMemory timer_memory_;
  HandlerMemory sweep_timer_memory_;
  NetCounters counters_;
  std::atomic<std::uint32_t> load_{0};  // relaxed: a hint where to put the next connection
  DescriptorShortage shortage_;         ///< of its listeners
  std::deque<Listener> listeners_;
  Connection* first_ready_ = nullptr;
  bool ready_act_ = false;  ///< a ready connection has more to do than wait for memory
  Connection* last_ready_ = nullptr;
  Connection* connections_ = nullptr;
  std::vector<Connection*> leaving_;  ///< to go to another worker as soon as they rest
  Balancer balancer_;
  std::atomic<std::uint64_t> takes_ns_{0};  ///< takes connections from then on; relaxed: a hint to givers
  std::vector<Connection*> closed_;         ///< may still be in the list of ready connections
  std::size_t sending_waits_ = 0;
  SecondChance<Connection> keep_tls_buffers_;
  std::uint64_t next_tls_look_ns_ = 0;        ///< of the next search for an idle TLS connection
  std::size_t tls_left_ = 0;                  ///< TLS connections and handshakes ended since the last trim
  std::size_t handshakes_ = 0;                ///< under way, or waiting for their first bytes
  std::vector<Connection*> held_;             ///< their output waits for the disk
  std::vector<Connection*> journal_waiters_;  ///< not read, since the journal is full
  std::uint64_t next_late_ns_ = 0;            ///< of the next search for connections that wait too long
  std::uint64_t durable_ = 0;                 ///< as of this round, like the next two
  std::uint64_t broken_ = 0;
  bool reads_paused_ = false;
  bool parked_ = true;       ///< at the disk's gate, until the next round begins
  bool told_waits_ = false;  ///< the gate knows that some connection waits
  std::uint64_t next_trim_ns_ = 0;
  std::uint64_t told_output_full_ = 0;  ///< as of the last log line, like the next
  std::uint64_t told_input_full_ = 0;
  std::uint64_t next_tell_ns_ = 0;
  std::atomic<bool> logins_judged_{false};  // pairs with the acquire in poll()
  bool timer_armed_ = false;
  bool times_due_ = false;
  bool sweep_timer_armed_ = false;
  bool draining_ = false;
  std::array<char, kReadHeadroom + kReadBytes> read_buffer_;
};

}  // namespace mxkv::server
