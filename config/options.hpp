// All options of the daemon as configured: the target of flags, `--set` and the YAML file.
//
// The structs have the defaults. Values are as the user gave them: 0 and empty lists that mean "detect" are
// settled later by resolve(), against the machine. There is no YAML here, so that every module may include
// this file. Bounds of each value are in schema.cpp, explanations for users in mxkv.yaml.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/origin.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/options.hpp"

namespace mxkv::config {

/// Whether a listener's clients have to log in.
enum class listener_auth : std::uint8_t {
  automatic,  ///< required if ServerOptions::auth_file names users
  none,
  required,
};

/// What the clients of a listener may do without a login; each role includes those before it. See user_role.
enum class listener_role : std::uint8_t { reader, writer, administrator };

/// Which node answers a listener's reads, in a cluster.
enum class listener_reads : std::uint8_t {
  owner,    ///< the key's owner
  replica,  ///< also this node, if it follows the owner closely: ClusterOptions::staleness_ms
};

/// The oldest version that is accepted.
enum class tls_version : std::uint8_t { v1_2, v1_3 };

/// TLS of a listener. Files are in PEM.
struct TlsOptions {
  std::string certificate{};  ///< the certificate, then the chain to the root
  std::string key{};          ///< of that certificate
  std::string client_ca{};  ///< clients need a certificate that leads to one of these; empty: they need none
  tls_version minimum = tls_version::v1_2;
  std::string name{};  ///< the name in the peers' certificates; empty: any
  [[nodiscard]] bool given() const noexcept {
    return !certificate.empty() || !key.empty() || !client_ca.empty() || !name.empty();
  }
  friend bool operator==(const TlsOptions&, const TlsOptions&) = default;
};

/// Where a listener waits for connections, and which clients it admits.
struct ListenAddress {
  std::string address = "127.0.0.1";    ///< IPv4 or IPv6 in numbers, without brackets
  std::uint16_t port = 11211;           ///< 0: any free port
  std::string path{};                   ///< of a unix socket, instead of address and port
  std::uint32_t mode = 0660;            ///< permissions of the unix socket's file
  std::optional<std::uint32_t> node{};  ///< NUMA node, by the system's number, whose workers serve; none: all
  listener_auth auth = listener_auth::automatic;
  listener_role role = listener_role::administrator;
  listener_reads reads = listener_reads::owner;
  std::optional<TlsOptions> tls{};  ///< none: the traffic is not encrypted
  friend bool operator==(const ListenAddress&, const ListenAddress&) = default;
};

/// Limits of one client, or of all together.
struct LimitOptions {
  std::uint32_t connections = 4096;             ///< open at once, all listeners together
  std::uint32_t connections_per_client = 0;     ///< open at once, of one address; 0: no limit
  std::uint32_t requests_per_client = 0;        ///< a second, of one address; 0: no limit
  std::size_t bytes_per_client = 0;             ///< a second, to and from one address; 0: no limit
  std::size_t value_bytes = 1U << 20U;          ///< longest value
  std::size_t get_line_bytes = 1U << 20U;       ///< longest get/gets/gat/gats line
  std::size_t output_high_water = 256U << 10U;  ///< unsent bytes of a connection at which it is not read
  std::uint32_t output_stall_ms = 60'000;       ///< no progress for this long, output share full: closed
  std::uint32_t idle_timeout_ms = 0;            ///< a silent connection is closed; 0: never
  std::uint32_t handshake_ms = 10'000;          ///< a TLS handshake that takes longer is given up
  std::uint32_t keepalive_ms = 300'000;         ///< TCP asks a client silent for so long; 0: never
  std::uint32_t requests_per_turn = 256;        ///< of one connection before others have their turn
  std::uint32_t pipeline = 1024;                ///< requests in flight of one connection
  std::uint32_t locked_items = 1'000'000;       ///< most items of an operation that locks them and is no page
  std::uint32_t scan_items = 1000;              ///< most items in a page of a range
  std::size_t scan_bytes = 1U << 20U;           ///< most bytes in a page of a range
  std::uint32_t scan_time_ms = 5;               ///< longest time a page of a range takes
  std::uint32_t batch_lines = 1000;             ///< most lines of a batch
  std::size_t batch_bytes = 4U << 20U;          ///< most bytes of a batch's values
};

/// Statistics about requests.
struct StatsOptions {
  std::uint32_t sample = 64;   ///< one of this many requests is timed and its key counted; 0: none
  std::uint32_t slow_ms = 10;  ///< timed requests that take at least this long are kept; 0: none
};

enum class log_level : std::uint8_t { trace, debug, info, warning, error, off };

enum class log_format : std::uint8_t { text, json };

struct LogOptions {
  log_level level = log_level::info;
  std::string file;  ///< appended to; empty: standard error
  log_format format = log_format::text;
  std::size_t rotate_bytes = 0;    ///< size at which the file is renamed and a new one begins; 0: never
  std::uint32_t rotate_files = 5;  ///< older files to keep
  std::uint32_t rate = 200;        ///< most lines a second; 0: no limit
};

/// Administration by HTTP.
struct AdminOptions {
  std::vector<ListenAddress> listeners;  ///< empty: none
};

/// The process itself.
struct ServerOptions {
  std::uint32_t drain_timeout_ms = 5000;  ///< for answering requests that have arrived before the end
  bool daemonize = false;                 ///< runs in the background
  std::string pid_file;                   ///< empty: none
  std::string auth_file;                  ///< users and passwords; empty: every client is served
  bool shutdown_command = false;          ///< clients may end the server by `shutdown`
  bool debug_time = false;                ///< clients may move the server's clock by `debugtime`
};

/// What moves to a less loaded worker.
enum class balance_mode : std::uint8_t { off, connections };

/// The workers among which a new connection goes to the one with the fewest connections.
enum class accept_mode : std::uint8_t {
  machine,  ///< all
  node,     ///< workers of the NUMA node that its packets arrive on
};

struct BalanceOptions {
  accept_mode accept = accept_mode::node;
  balance_mode mode = balance_mode::connections;
  std::uint32_t window_ms = 250;  ///< loads are measured over this time
};

/// A node's differences from `prefetch`.
struct PrefetchChanges {
  std::optional<runtime::prefetch_mode> mode;
  std::optional<std::uint32_t> distance;
  std::optional<std::uint32_t> window;
  friend bool operator==(const PrefetchChanges&, const PrefetchChanges&) = default;
};

/// One entry of `nodes:`. It has a worker count, or CPUs, or neither (all CPUs of the node).
struct NodeOptions {
  std::uint32_t node = 0;            ///< the operating system's index
  std::uint32_t workers = 0;         ///< 0: one for each CPU
  std::vector<runtime::PuId> cpus;   ///< empty: all CPUs of the node that this process may use
  std::size_t memory_bytes = 0;      ///< 0: see percent
  std::uint32_t memory_percent = 0;  ///< of the node's; 0: no share; all nodes have one or none
  PrefetchChanges prefetch;
};

/// The workers, and their places.
struct PlacementOptions {
  std::uint32_t workers = 0;        ///< 0: one for each CPU
  std::vector<runtime::PuId> cpus;  ///< empty: all CPUs that this process may use
  std::vector<NodeOptions> nodes;   ///< instead of workers and cpus; empty: detected
};

/// From `least` to `most`, both included.
struct CountRange {
  std::uint32_t least = 0;
  std::uint32_t most = UINT32_MAX;
  friend bool operator==(const CountRange&, const CountRange&) = default;
};

/// The condition of an entry of `topologies:`. Counts are of resources that this process may use.
struct TopologyCondition {
  CountRange nodes;              ///< NUMA nodes with CPUs
  CountRange cpus;               ///< hardware threads
  std::size_t memory_bytes = 0;  ///< at least
  friend bool operator==(const TopologyCondition&, const TopologyCondition&) = default;
};

/// One entry of `topologies:`. The first that fits the machine is used.
struct TopologySection : PlacementOptions {
  std::string name;
  TopologyCondition when;
};

/// What happens when the memory limit is reached.
enum class when_full : std::uint8_t {
  evict,  ///< the least used items are evicted
  error,  ///< an operation that needs more memory fails
};

/// What eviction keeps as many as possible of.
enum class evict_for : std::uint8_t {
  requests,  ///< requests that hit: large items go before small ones
  bytes,     ///< bytes that hit: an item's size has no say
};

/// The same among the items of a prefix, when they take more than their own limit.
enum class prefix_evict_for : std::uint8_t {
  automatic,  ///< as evict_for of all items
  requests,
  bytes,
};

/// The memory of the items whose keys begin with a prefix, and with no longer one of the list.
struct PrefixOptions {
  std::string prefix;
  std::size_t memory_bytes = 0;      ///< the most that the items may take; 0: see percent
  std::uint32_t memory_percent = 0;  ///< of memory.limit; both 0: no limit of their own
  std::size_t keep_bytes = 0;        ///< up to this the need of others evicts none of them
  config::when_full when_full = config::when_full::evict;  ///< memory
  prefix_evict_for evict_for = prefix_evict_for::automatic;

  [[nodiscard]] bool has_limit() const noexcept { return memory_bytes != 0 || memory_percent != 0; }
};
inline constexpr std::size_t kMostPrefixes = 256;

/// When a write is on disk, as seen by clients.
enum class sync_mode : std::uint8_t {
  commit,    ///< a reply leaves when the data it reveals is on disk
  interval,  ///< replies do not wait while the disk is at most this far behind
  never,     ///< the system writes when it likes
};

/// The data that reads may show while sync is commit.
enum class read_mode : std::uint8_t {
  durable,  ///< only data that a power cut cannot take back
  latest,   ///< the newest data in memory
};

/// The daemon's reaction when the disk fails to write.
enum class failure_action : std::uint8_t { refuse, exit };

/// When all items are written out, so that older journal files may be deleted.
struct CheckpointOptions {
  std::size_t journal_bytes = 0;   ///< begins after this growth; 0: by the last one's size
  std::uint32_t every_ms = 0;      ///< begins this long after the last one; 0: only by bytes
  std::size_t rate = 200U << 20U;  ///< most bytes a second; 0: no limit
  bool compress = false;           ///< by zstd
};

/// Journal and checkpoints.
struct DurabilityOptions {
  std::string directory;  ///< empty: data is kept in memory only
  sync_mode sync = sync_mode::commit;
  std::uint32_t interval_ms = 1000;  ///< of sync_mode::interval
  read_mode reads = read_mode::durable;
  std::size_t buffer_bytes =
      64U << 20U;  ///< records that are not on disk yet; above it connections are not read from
  std::size_t segment_bytes = 64U << 20U;  ///< of a file of the journal
  std::size_t journal_most_bytes = 0;      ///< above it writes are refused; 0: detected
  failure_action on_failure = failure_action::refuse;
  CheckpointOptions checkpoint;
  bool recover_prefix = false;  ///< continue without the records behind damage; a flag only
};

/// One node of a cluster (server/cluster/). Shards and replicas are in the cluster's map.
struct ClusterOptions {
  std::string name;                               ///< the cluster's; empty: no cluster
  std::vector<std::string> brokers;               ///< host:port each
  std::map<std::string, std::string> properties;  ///< for the library that talks to the brokers
  std::string node;                               ///< this one's name; empty: the host's
  std::optional<ListenAddress> peer;              ///< the listener for other nodes; never a unix socket
  TlsOptions tls{.minimum = tls_version::v1_3};   ///< between nodes; both show a certificate, of client_ca
  std::string advertise;             ///< address:port that the other nodes use; empty: the address of `peer`
  std::string address;               ///< address:port for clients; empty: the first listener's
  std::uint32_t lease_ms = 3000;     ///< for the tools that write the map; nodes follow the map's lease
  bool forward = true;               ///< requests for another node's shard are forwarded to it
  std::uint32_t patience_ms = 1000;  ///< how long a request waits for its shard to have an owner
  std::uint32_t deadline_ms = 10'000;  ///< how long a reply waits for the brokers to acknowledge
  std::uint32_t staleness_ms = 1000;   ///< greatest age of answers of listener_reads::replica
  std::uint64_t snapshot_bytes = std::uint64_t{64}
                                 << 20U;  ///< a shard's log grows by at least this between two snapshots
};

/// Watches of ranges.
struct WatchOptions {
  std::uint32_t most = 10'000;          ///< watches of all connections
  std::size_t memory_bytes = 0;         ///< of lines that clients have not read; 0: 1/64 of the memory limit
  std::size_t ring_bytes = 32U << 20U;  ///< of recent changes, where there is no directory
  std::uint64_t history_bytes = std::uint64_t{256}
                                << 20U;  ///< of the journal, beyond what checkpoints need, with a directory
  std::uint32_t linger_ms = 60'000;      ///< changes are recorded for so long after the last watch
  std::uint32_t mark_ms = 1000;          ///< between two marks of a watch without changes
  std::size_t value_bytes = 64U << 10U;  ///< larger values are not told
};

/// All options.
struct DaemonOptions : PlacementOptions {
  std::vector<TopologySection> topologies;  ///< instead of workers, cpus and nodes
  runtime::MemoryOptions memory;
  std::uint32_t memory_limit_percent = 0;  ///< of the machine's or control group's, instead of limit_bytes
  config::when_full when_full = config::when_full::evict;
  config::evict_for evict_for = config::evict_for::requests;
  bool evacuation = true;  ///< items are moved out of sparse spans
  std::vector<PrefixOptions> prefixes;
  runtime::PrefetchOptions prefetch;
  runtime::stealing_scope order_reach = runtime::RuntimeOptions{}.order_reach;
  runtime::task_order order = runtime::RuntimeOptions{}.order;
  runtime::EpochOptions epoch;
  std::uint32_t lock_slots = 0;     ///< slots of keys that operations on many keys hold; 0: 32 a worker
  std::uint32_t spin_rounds = 256;  ///< most empty rounds before an idle worker blocks
  std::vector<ListenAddress> listeners{ListenAddress{}};
  LimitOptions limits;
  StatsOptions stats;
  ServerOptions server;
  AdminOptions admin;
  BalanceOptions balance;
  LogOptions log;
  WatchOptions watch;
  DurabilityOptions durability;
  ClusterOptions cluster;
  Origins origins;  ///< each value's origin; for errors and print-config, never for behaviour
};

}  // namespace mxkv::config
