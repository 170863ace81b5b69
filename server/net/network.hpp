// The network side of the daemon: a NetWorker for each worker, the listeners, and handing sockets over.
//
// No Asio in here: the daemon's other sources include it.
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
#include "server/net/admin_source.hpp"
#include "server/net/client_table.hpp"
#include "server/net/connection_facts.hpp"
#include "server/net/credentials.hpp"
#include "server/net/descriptor_shortage.hpp"
#include "server/net/listen_socket.hpp"
#include "server/net/net_counters.hpp"
#include "server/net/request_sampler.hpp"
#include "server/net/tls_context.hpp"
#include "server/net/warning_sink.hpp"
#include "server/reply/disk_gate.hpp"
#include "server/reply/worker_replies.hpp"
#include "server/store/store.hpp"

namespace mxkv::server {

class ClusterStore;

class Network {
 public:
  /// Becomes the poller of all workers. Start-up only; all arguments outlive this. `disk`: null: there is no
  /// journal.
  /// `cluster`: null: this node has all keys.
  Network(runtime::Runtime& runtime, std::span<const std::unique_ptr<WorkerReplies>> replies, Store& store,
          const config::LimitOptions& limits, AdminSource& admin, Credentials& credentials,
          const config::StatsOptions& stats, const config::BalanceOptions& balance, WarningSink& log,
          DiskGate* disk = nullptr, ClusterStore* cluster = nullptr);
  /// After the runtime stopped.
  ~Network();
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  /// Takes over the sockets; they accept when the runtime runs. Start-up only.
  void listen(std::vector<ListenSocket> sockets);
  /// The same for other nodes of the cluster, and this one: no login is asked, and nothing that comes is sent on.
  /// Where it has TLS, this node speaks it also to the others.
  void listen_for_peers(ListenSocket socket);
  /// What changes while it runs.
  struct Settings {
    config::LimitOptions limits;
    config::StatsOptions stats;
    config::BalanceOptions balance{};  ///< mode and accept
  };
  /// Sends new settings to all workers, and waits until they hold, or for a second. Returns whether they hold
  /// everywhere. The main thread.
  bool change(const Settings& settings);
  /// The users were replaced: connections whose users are gone, or may something else now, are closed. Waits as
  /// change() does, and returns how many were. The main thread.
  std::size_t review_users();
  /// Of the listeners that speak TLS. They live as long as this. The main thread.
  [[nodiscard]] std::vector<TlsDoor*> tls_doors() const;
  /// Those that were set last. Any thread.
  [[nodiscard]] Settings settings() const;
  /// Stops listening, answers what has arrived, closes all connections. Any thread that is no worker.
  void drain();
  /// Ends a worker's sleep, or its next one, for what it waits for at the disk's gate. Any thread.
  void wake(std::size_t worker) noexcept;
  /// Whether drain() is done. Any thread.
  [[nodiscard]] bool drained() const noexcept;
  /// Any thread.
  [[nodiscard]] NetStats stats() const noexcept;
  /// One a worker. Any thread.
  [[nodiscard]] const std::vector<const RequestSampler*>& samplers() const noexcept;
  [[nodiscard]] const SlowLog& slow_log() const noexcept;
  /// A page of the connections of now, and before the first of them the listeners. Any thread.
  [[nodiscard]] std::vector<ConnectionFacts> connections(AdminCursor& cursor) const;
  /// All of them as people ask for them. Any thread.
  [[nodiscard]] ClientTable& clients() noexcept;
  /// How many each worker has, or will have. Any thread.
  [[nodiscard]] std::vector<std::uint64_t> connections_by_worker() const;
  /// Forgets slow requests and hot keys. Any thread.
  void forget_samples();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace mxkv::server
