// The network side of the daemon: a NetWorker for each worker, the listeners, and the hand-over of sockets.
//
// This header does not include Asio, because other sources of the daemon include it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/options.hpp"
#include "runtime/scheduler/runtime.hpp"
#include "server/commit/commit_gate.hpp"
#include "server/net/connection/client_table.hpp"
#include "server/net/observe/connection_facts.hpp"
#include "server/net/observe/net_counters.hpp"
#include "server/net/observe/request_sampler.hpp"
#include "server/net/observe/warning_sink.hpp"
#include "server/net/session/admin_source.hpp"
#include "server/net/sockets/descriptor_shortage.hpp"
#include "server/net/sockets/listen_socket.hpp"
#include "server/net/tls/tls_context.hpp"
#include "server/net/users/credentials.hpp"
#include "server/reply/worker_replies.hpp"
#include "server/store/store.hpp"

namespace mxkv::server {

class ClusterStore;
class Feed;

class Network {
 public:
  /// Becomes the poller of all workers. Start-up only; all arguments outlive this. `disk` null: there is no
  /// journal. `cluster` null: this node serves all keys. `feed` null: no range can be watched.
  Network(runtime::Runtime& runtime, std::span<const std::unique_ptr<WorkerReplies>> replies, Store& store,
          const config::LimitOptions& limits, AdminSource& admin, Credentials& credentials,
          const config::StatsOptions& stats, const config::BalanceOptions& balance, WarningSink& log,
          CommitGate* disk = nullptr, ClusterStore* cluster = nullptr, Feed* feed = nullptr);
  /// After the runtime has stopped.
  ~Network();
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  /// Takes over the sockets; they accept when the runtime runs. Start-up only.
  void listen(std::vector<ListenSocket> sockets);
  /// The same for the listener of the cluster's nodes, this one included. It asks for no login, and forwards
  /// no request. Its TLS settings, if any, are also used to connect to other nodes.
  void listen_for_peers(ListenSocket socket);
  /// Settings that may change at run time.
  struct Settings {
    config::LimitOptions limits;
    config::StatsOptions stats;
    config::BalanceOptions balance{};  ///< mode and accept
  };
  /// Sends new settings to all workers, and waits up to a second for them. Returns whether they hold on all
  /// workers. The main thread.
  bool change(const Settings& settings);
  /// The users were replaced: closes connections whose users are gone or have other rights. Waits as change()
  /// does, and returns how many were closed. The main thread.
  std::size_t review_users();
  /// The doors of listeners that speak TLS. They live as long as this. The main thread.
  [[nodiscard]] std::vector<TlsDoor*> tls_doors() const;
  /// The current settings. Any thread.
  [[nodiscard]] Settings settings() const;
  /// Stops listening, answers the requests that have arrived, closes all connections. Any thread but a
  /// worker.
  void drain();
  /// Ends the worker's sleep, or its next one, because the disk's gate has news for it. Any thread.
  void wake(std::size_t worker) noexcept;
  /// Whether drain() is done. Any thread.
  [[nodiscard]] bool drained() const noexcept;
  /// Any thread.
  [[nodiscard]] NetStats stats() const noexcept;
  /// One a worker. Any thread.
  [[nodiscard]] const std::vector<const RequestSampler*>& samplers() const noexcept;
  [[nodiscard]] const SlowLog& slow_log() const noexcept;
  /// A page of the open connections; the listeners come before the first. Any thread.
  [[nodiscard]] std::vector<ConnectionFacts> connections(AdminCursor& cursor) const;
  /// All connections, for administrators. Any thread.
  [[nodiscard]] ClientTable& clients() noexcept;
  /// Connections that each worker has, or is about to get. Any thread.
  [[nodiscard]] std::vector<std::uint64_t> connections_by_worker() const;
  /// Forgets slow requests and hot keys. Any thread.
  void forget_samples();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace mxkv::server
