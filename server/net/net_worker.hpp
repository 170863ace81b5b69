// The sockets of one worker, and the poller by which they enter the runtime.
//
// A round has three parts. poll() asks the kernel which connections are ready and gives one after the other a
// turn: one read, all its requests spawned. The runtime runs the tasks. end_turn() sends, once for each
// connection that was answered. So a batch gathers the requests of many connections before the first look-up,
// and replies leave in few system calls; where pipelines are deep, a few connections fill a round. block() only learns that something is ready: it runs outside of the worker's
// epoch, where no task may be made.
//
// A round asks the kernel once for all connections, and every now and then Asio's context, which has listeners
// and timers. To sleep it waits in the context for all of them.
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
#include "server/reply/disk_gate.hpp"
#include "server/store/store.hpp"

namespace mxkv::server {

class NetWorker;

/// What the workers' network sides share.
struct NetShared {
  WarningSink& log;
  ConnectionCounters connections{};
  SlowLog slow{};
  DiskGate* disk = nullptr;         ///< null: there is no journal
  ClusterStore* cluster = nullptr;  ///< null: this node has all keys
  config::BalanceOptions balance{.mode = config::balance_mode::off};
  ClientTable clients{};
  std::atomic<std::uint64_t> trimmed_ns{0};  ///< when the system's heap was last trimmed; relaxed: a rate
  std::vector<NetWorker*> workers{};         ///< by number, as far as connections move
  std::deque<RunDelay> delays{};             ///< theirs; none: they never wait for a CPU
};

/// Thread-safety: owner worker only, unless a function says otherwise.
class NetWorker final : public runtime::Poller, private InputRelief, private LoginBell {
 public:
  static constexpr std::size_t kReadBytes = std::size_t{16} << 10U;
  static constexpr std::size_t kLeastReadBytes =
      BlockPool::kSmallBlockRoom;                     ///< if the rest of it must be held
  static constexpr std::size_t kReadHeadroom = 4096;  ///< for the beginning of a line, in front of the rest

  /// What sessions need, as in SessionHost. All outlive this.
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

  /// Takes over a socket that was counted in ConnectionCounters::open and came by `door`.
  void adopt(int socket, const Door& door = kUsualDoor);
  /// Takes over a connection that left another worker.
  void take_in(std::unique_ptr<MovedConnection> moved);
  /// All its connections go to `taker` when they rest. For tests.
  void give_all(NetWorker& taker);
  /// Takes over a listening socket, which accepts when the worker runs. Start-up only.
  void listen(int socket, SocketReceiver& receiver);
  /// What other nodes of the cluster come by, and so by what TLS this one comes to them. Start-up only.
  void set_peer_tls(const TlsDoor* tls) noexcept { forwarder_->set_tls(tls); }
  /// Holds for all connections from their next request on. Those over a lowered limit stay.
  void set_limits(const config::LimitOptions& limits);
  /// Users, or rates, have changed. Returns how many connections were closed, since their users are to leave.
  std::size_t review();
  /// Whether it gives connections to others, from now on.
  void set_balance(config::balance_mode mode) noexcept { balancer_.set_mode(mode); }
  [[nodiscard]] WarningSink& log() const noexcept { return shared_.log; }
  /// There are lines for connections that watch.
  void pull_watched();
  /// Stops listening, answers what has arrived, closes all connections.
  void drain();

  /// Connections that this worker has, or will have. Any thread.
  [[nodiscard]] std::atomic<std::uint32_t>& load() noexcept { return load_; }
  /// Any thread.
  [[nodiscard]] const NetCounters& counters() const noexcept { return counters_; }

  // --- For its connections ---

  [[nodiscard]] ClientTable& clients() noexcept { return shared_.clients; }
  [[nodiscard]] Client& client_of(int socket) { return shared_.clients.of(socket, now_ns(), limits_); }
  [[nodiscard]] SocketEvents<Connection>& events() noexcept { return events_; }
  [[nodiscard]] SessionHost& host() noexcept { return host_; }
  [[nodiscard]] ConnectionTable& directory() noexcept { return host_.directory; }
  [[nodiscard]] const config::LimitOptions& limits() const noexcept { return limits_; }
  [[nodiscard]] NetCounters& counters() noexcept { return counters_; }
  [[nodiscard]] std::uint64_t now_ns() const noexcept { return host_.worker.now_ns(); }
  /// Where one read goes; kReadHeadroom bytes before it are free, too.
  [[nodiscard]] std::span<char> read_buffer() noexcept {
    return std::span{read_buffer_}.subspan(kReadHeadroom, kReadBytes);
  }
  /// Bytes that one read may take: fewer, where it is likely that they will have to be held.
  [[nodiscard]] std::size_t most_read() noexcept {
    const MemoryShare& share = host_.input.share();
    return share.held() <= share.bytes() / 8 ? kReadBytes : kLeastReadBytes;
  }
  /// The input of a connection was refused.
  void refused_input();
  /// Gives the connection a turn in this or the next round.
  void make_ready(Connection& connection) noexcept;
  /// The same, but the round may be a while away.
  void wait_for_memory(Connection& connection) noexcept;
  /// A connection's TLS handshake ended well; or a connection closes that had, or had not, come so far.
  void shook_hands(Connection& connection);
  void ended_tls() noexcept;
  void freed_tls() noexcept { ++tls_left_; }
  void shakes_hands_no_more() noexcept;
  /// Whether another connection may speak TLS. Where their share of the memory limit is used up, the one that has been
  /// idle for longest is closed for it.
  [[nodiscard]] bool has_tls_room();
  /// A connection keeps the buffers of its TLS. Another one may have to give its own back: returns their bytes.
  [[nodiscard]] std::size_t keep_tls_buffers(Connection& connection);
  void keeps_no_tls_buffers(Connection& connection) noexcept { keep_tls_buffers_.remove(connection); }
  /// A connection begins or ends to wait for its socket to take output.
  void sending_waits(bool begins);
  /// Null: there is no journal.
  [[nodiscard]] DiskGate* disk() const noexcept { return shared_.disk; }
  [[nodiscard]] bool reads_paused() const noexcept { return reads_paused_; }
  /// The connection has output that waits for the disk, until its reached_disk() lets the last of it go.
  void holds_output(Connection& connection);
  /// The connection is not read until its journal_has_room().
  void wait_for_journal(Connection& connection);
  /// A connection is about to close that did the one or the other, or none.
  void leave_gate(Connection& connection, bool holds, bool waits);
  /// A connection is about to close its socket.
  void unlist(Connection& connection);
  /// A connection is about to close that was to leave for another worker.
  void leaves_no_more(Connection& connection);
  /// A connection was closed.
  void delete_later(Connection& connection);

 private:
  static constexpr std::size_t kMostTaken =
      4;  ///< fills of the events in a round: it must end whatever comes
  /// Requests in flight at which a round takes no further connection: enough to hide what each waits for, and
  /// few enough that their tasks, items and replies stay in the second-level cache until they are sent.
  static constexpr std::size_t kRequestsARound = 256;
  /// Between two looks for connections that have waited at the gate of the disk for too long.
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
  /// Returns in how long it is to be called again; kForever: not before more connections with TLS have ended.
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
  config::LimitOptions limits_;  ///< its own copy: they change while the daemon runs
  SessionHost host_;
  asio::io_context context_;
  asio::executor_work_guard<Executor> context_stays_;  ///< also while it has no wait
  SocketEvents<Connection> events_;
  Descriptor events_wait_;  ///< theirs, for as long as the worker sleeps
  bool events_awaited_ = false;
  std::uint64_t next_context_ns_ = 0;
  Timer timer_;
  Timer sweep_timer_;
  std::unique_ptr<Forwarder> forwarder_;  ///< null: there is no cluster
  HandlerMemory events_memory_;
  HandlerMemory timer_memory_;
  HandlerMemory sweep_timer_memory_;
  NetCounters counters_;
  std::atomic<std::uint32_t> load_{0};  // relaxed: a hint where to put the next connection
  DescriptorShortage shortage_;         ///< of its listeners
  std::deque<Listener> listeners_;
  Connection* first_ready_ = nullptr;
  bool ready_act_ = false;  ///< not all of those that are ready only wait for memory
  Connection* last_ready_ = nullptr;
  Connection* connections_ = nullptr;
  std::vector<Connection*> leaving_;  ///< that are to go to another worker when they rest
  Balancer balancer_;
  std::atomic<std::uint64_t> takes_ns_{0};  ///< from then on it takes connections; relaxed: a hint to givers
  std::vector<Connection*> closed_;         ///< which may be in the list of those that are ready
  std::size_t sending_waits_ = 0;
  SecondChance<Connection> keep_tls_buffers_;
  std::uint64_t next_tls_look_ns_ = 0;  ///< for one that is idle
  std::size_t tls_left_ = 0;       ///< connections with TLS, and handshakes, that ended since the last trim
  std::size_t handshakes_ = 0;     ///< that have begun, or wait for their first bytes
  std::vector<Connection*> held_;  ///< whose output waits for the disk
  std::vector<Connection*> journal_waiters_;  ///< that are not read, since the journal is full
  std::uint64_t next_late_ns_ = 0;            ///< of the next look for connections that wait too long
  std::uint64_t durable_ = 0;                 ///< as of this round, as the next two
  std::uint64_t broken_ = 0;
  bool reads_paused_ = false;
  bool parked_ = true;       ///< at the gate of the disk, until the next round begins
  bool told_waits_ = false;  ///< that something waits at the gate of the disk
  std::uint64_t next_trim_ns_ = 0;
  std::uint64_t told_output_full_ = 0;  ///< of those in the counters
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
