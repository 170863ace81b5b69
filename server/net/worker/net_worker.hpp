// The sockets of one worker, and the poller that connects them to the runtime.
//
// A round has three parts. poll() asks the kernel which connections are ready and gives each in turn one
// read, and spawns all of its requests. Then the runtime runs the tasks. end_turn() sends, once for each
// connection with replies. So a batch gathers the requests of many connections before the first look-up, and
// replies leave in few system calls. With deep pipelines, a few connections fill a round. block() only learns
// that a socket is ready: it runs outside of the worker's epoch, where no task may be made.
//
// Each round asks the kernel once about all connections, listeners and other nodes. To sleep, the worker
// waits for the same, at most until the next of its times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/scheduler/poller.hpp"
#include "runtime/scheduler/runtime.hpp"
#include "server/commit/commit_gate.hpp"
#include "server/net/connection/client_table.hpp"
#include "server/net/connection/connection.hpp"
#include "server/net/connection/connection_host.hpp"
#include "server/net/peers/forwarder.hpp"
#include "server/net/session/admin_source.hpp"
#include "server/net/sockets/descriptor_shortage.hpp"
#include "server/net/sockets/listener.hpp"
#include "server/net/users/credentials.hpp"
#include "server/net/worker/balancer.hpp"
#include "server/store/store.hpp"

namespace mxkv::server {

/// Thread-safety: owner worker only, unless a function says otherwise.
class NetWorker final : public runtime::Poller,
                        public ConnectionHost,
                        private InputRelief,
                        private LoginBell {
 public:
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
  /// Watchers have lines to send.
  void pull_watched();
  /// Stops listening, answers the requests that have arrived, closes all connections.
  void drain();

 private:
  static constexpr std::size_t kMostTaken = 4;  ///< takes of events in a round, so that the round ends
  /// A round takes no further connection at so many requests in flight or just answered. They are enough to hide
  /// each one's memory latency, and few enough that their tasks, items and replies stay in the second-level cache
  /// until they are sent.
  static constexpr std::size_t kRequestsARound = 256;
  /// The same for bytes read, so that many clients that send large values do not make a round long.
  static constexpr std::uint64_t kReadARound = std::uint64_t{1} << 20U;
  /// Between two searches for connections that have waited for the disk for too long.
  static constexpr std::uint64_t kLateLookNs = 100'000'000;

  void adopted(Connection& connection);
  [[nodiscard]] static std::vector<BalancePeer> balance_peers(runtime::Runtime& runtime,
                                                              const NetShared& shared);
  void balance();
  void choose_leaving(const Balancer::Advice& advice);
  [[nodiscard]] bool let_leave();
  [[nodiscard]] bool send_in_turn();
  void hand_over(Connection& connection, NetWorker& taker);
  void take_events();
  void set_times();
  void check_times();
  /// Returns after how long to call it again; kForever: not before more TLS connections have ended.
  [[nodiscard]] std::uint64_t trim_system_memory();
  void give_page_room();
  void give_rate_room();
  /// Looks at all sessions whose login is being judged; called once a round at most, after a verdict.
  void tell_judged();
  void login_judged() noexcept override;
  [[nodiscard]] bool admit(Admission& admission, std::uint64_t room);
  void begin_disk_round();
  void begin_feed_round();
  void pull_watches();
  [[nodiscard]] bool may_park();
  void park() noexcept;
  void close_held();
  /// Closes connections with requests under way.
  void close_under_way(bool only_stale_readers);
  void give_up_late();
  void tell_of_closed();
  [[nodiscard]] bool relieve(ConnectionState& asking, bool stalled) override;
  void make_room();
  template <class Bytes>
  [[nodiscard]] std::vector<std::pair<std::size_t, Connection*>> holders(const Bytes& bytes);

  Store& store_;
  std::uint64_t times_ns_ = kForever;     ///< when to look for connections that time out
  std::unique_ptr<Forwarder> forwarder_;  ///< null: no cluster
  DescriptorShortage shortage_;           ///< of its listeners
  std::deque<Listener> listeners_;
  Balancer balancer_;
  std::atomic<std::uint64_t> takes_ns_{0};  ///< takes connections from then on; relaxed: a hint to givers
  /// The disk as of this round.
  struct Disk {
    std::uint64_t durable = 0;
    std::uint64_t broken = 0;
    CommitGate::Drops drops;
    std::uint64_t next_late_ns = 0;  ///< of the next search for connections that wait too long
    bool parked = true;              ///< at the disk's gate, until the next round begins
  };
  Disk disk_;
  /// Connections closed for lack of memory, as of the last log line.
  struct Told {
    std::uint64_t output_full = 0;
    std::uint64_t input_full = 0;
    std::uint64_t next_ns = 0;
  };
  Told told_;
  std::uint64_t next_trim_ns_ = 0;
  std::uint64_t next_input_look_ns_ = 0;
  std::uint64_t read_at_walk_ = 0;          ///< bytes read at the last walk for `most_input_`
  std::atomic<bool> logins_judged_{false};  // pairs with the acquire in poll()
  bool draining_ = false;
};

}  // namespace mxkv::server
