// Every option of the daemon as configured: what flags, `--set` and the YAML file are turned into.
//
// The structs carry the defaults. Values are as the user gave them: 0 and empty lists that mean "found
// out" are settled later by resolve(), against the machine. No YAML here, so that every module may look.
// Bounds of each value are in schema.cpp, explanations for users in mxkv.yaml.
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
  automatic,  ///< where ServerOptions::auth_file names users
  none,
  required,
};

/// Whose answers a listener's clients get, in a cluster.
enum class listener_reads : std::uint8_t {
  owner,    ///< that of a key's owner
  replica,  ///< also this node's, where it follows the owner closely: ClusterOptions::staleness_ms
};

/// The oldest version that is spoken.
enum class tls_version : std::uint8_t { v1_2, v1_3 };

/// TLS of a listener. Files are in PEM.
struct TlsOptions {
  std::string certificate{};  ///< its own first, then those that lead to the root
  std::string key{};          ///< of that certificate
  std::string client_ca{};  ///< clients need a certificate that leads to one of these; empty: they need none
  tls_version minimum = tls_version::v1_2;
  std::string name{};  ///< that theirs have to be for; empty: any
  [[nodiscard]] bool given() const noexcept {
    return !certificate.empty() || !key.empty() || !client_ca.empty() || !name.empty();
  }
  friend bool operator==(const TlsOptions&, const TlsOptions&) = default;
};

/// Where a listener waits for connections, and whom it lets in.
struct ListenAddress {
  std::string address = "127.0.0.1";    ///< IPv4 or IPv6 in numbers, without brackets
  std::uint16_t port = 11211;           ///< 0: any free port
  std::string path{};                   ///< of a unix socket, in place of address and port
  std::uint32_t mode = 0660;            ///< permissions of the unix socket's file
  std::optional<std::uint32_t> node{};  ///< NUMA node, by the system's number, whose workers serve; none: all
  listener_auth auth = listener_auth::automatic;
  listener_reads reads = listener_reads::owner;
  std::optional<TlsOptions> tls{};  ///< none: what is sent goes as it is
  friend bool operator==(const ListenAddress&, const ListenAddress&) = default;
};

/// What one client, or all of them, may ask for.
struct LimitOptions {
  std::uint32_t connections = 4096;             ///< open at once, all listeners together
  std::uint32_t connections_per_client = 0;     ///< open at once, of one address; 0: no limit
  std::uint32_t requests_per_client = 0;        ///< a second, of one address; 0: no limit
  std::size_t bytes_per_client = 0;             ///< a second, to and from one address; 0: no limit
  std::size_t value_bytes = 1U << 20U;          ///< longest value
  std::size_t get_line_bytes = 1U << 20U;       ///< longest get/gets/gat/gats line
  std::size_t output_high_water = 256U << 10U;  ///< unsent bytes of a connection at which it is not read
  std::uint32_t output_stall_ms = 60'000;       ///< no progress for so long, output share full: closed
  std::uint32_t idle_timeout_ms = 0;            ///< a silent connection is closed; 0: never
  std::uint32_t handshake_ms = 10'000;          ///< a TLS handshake that takes longer is given up
  std::uint32_t keepalive_ms = 300'000;         ///< TCP asks a client silent for so long; 0: never
  std::uint32_t requests_per_turn = 256;        ///< of one connection before others have their turn
  std::uint32_t pipeline = 1024;                ///< requests in flight of one connection
  std::uint32_t locked_items = 1'000'000;       ///< most items of an operation that holds them and is no page
  std::uint32_t scan_items = 1000;              ///< most items in a page of a range
  std::size_t scan_bytes = 1U << 20U;           ///< most bytes in a page of a range
  std::uint32_t scan_time_ms = 5;               ///< longest time a page of a range takes
  std::uint32_t batch_lines = 1000;             ///< most lines of a batch
  std::size_t batch_bytes = 4U << 20U;          ///< most bytes of the values that a batch brings
};

/// What is found out about requests.
struct StatsOptions {
  std::uint32_t sample = 64;   ///< one of so many requests is timed and its key counted; 0: none
  std::uint32_t slow_ms = 10;  ///< timed requests that take so long are kept; 0: none
};

enum class log_level : std::uint8_t { trace, debug, info, warning, error, off };

enum class log_format : std::uint8_t { text, json };

struct LogOptions {
  log_level level = log_level::info;
  std::string file;  ///< appended to; empty: standard error
  log_format format = log_format::text;
  std::size_t rotate_bytes = 0;    ///< size at which the file is renamed and begun anew; 0: never
  std::uint32_t rotate_files = 5;  ///< older files that are kept
  std::uint32_t rate = 200;        ///< most lines a second; 0: no limit
};

/// How a level of the tree is synchronised; writers of a scheduled one run in its nodes' pools.
enum class node_primitive : std::uint8_t {
  optimistic_latch,
  optimistic_scheduling,
  automatic,  ///< as the table of primitives says for the level; a leaf changes it as it is written to
};

/// Whose memory inner nodes of the index are on.
enum class upper_levels : std::uint8_t {
  local,        ///< that of the NUMA node of whoever makes one
  interleaved,  ///< that of all NUMA nodes in turn
};

struct IndexOptions {
  node_primitive leaves = node_primitive::optimistic_latch;
  node_primitive inner = node_primitive::optimistic_latch;
  config::upper_levels upper_levels = config::upper_levels::local;
};

/// Administration by HTTP.
struct AdminOptions {
  std::vector<ListenAddress> listeners;  ///< empty: there is none
};

/// The process itself.
struct ServerOptions {
  std::uint32_t drain_timeout_ms = 5000;  ///< for answering what has arrived when it is told to end
  bool daemonize = false;                 ///< runs in the background
  std::string pid_file;                   ///< empty: none
  std::string auth_file;                  ///< users and passwords; empty: whoever comes is served
  bool shutdown_command = false;          ///< clients may end it by `shutdown`
  bool debug_time = false;                ///< clients may move its clock by `debugtime`
};

/// What goes to a worker that has less to do.
enum class balance_mode : std::uint8_t { off, connections };

/// Which workers a new connection goes to; of them the one that has fewest.
enum class accept_mode : std::uint8_t {
  machine,  ///< all
  node,     ///< those of the NUMA node that its packets arrive on
};

struct BalanceOptions {
  accept_mode accept = accept_mode::node;
  balance_mode mode = balance_mode::connections;
  std::uint32_t window_ms = 250;  ///< that loads are measured over
};

/// When reads of a deep pipeline are offered to other workers (server/store/point/read_offers.hpp).
enum class read_offering : std::uint8_t { off, idle, always };

/// What a node's workers do otherwise than `prefetch` says.
struct PrefetchChanges {
  std::optional<runtime::prefetch_mode> mode;
  std::optional<std::uint32_t> distance;
  std::optional<std::uint32_t> window;
  friend bool operator==(const PrefetchChanges&, const PrefetchChanges&) = default;
};

/// One entry of `nodes:`. Either a worker count, or the CPUs, or neither (all CPUs of the node).
struct NodeOptions {
  std::uint32_t node = 0;            ///< the operating system's index
  std::uint32_t workers = 0;         ///< 0: one for each CPU
  std::vector<runtime::PuId> cpus;   ///< empty: all of the node that this process may use
  std::size_t memory_bytes = 0;      ///< 0: see percent
  std::uint32_t memory_percent = 0;  ///< of the node's; 0: no share of its own; all nodes have one or none
  PrefetchChanges prefetch;
  std::uint32_t pools = 0;  ///< of each worker; 0: as DaemonOptions::pools
};

/// Which workers there are and where.
struct PlacementOptions {
  std::uint32_t workers = 0;        ///< 0: one for each CPU
  std::vector<runtime::PuId> cpus;  ///< empty: all that this process may use
  std::vector<NodeOptions> nodes;   ///< in place of workers and cpus; empty: found out
};

/// From `least` to `most`, both included.
struct CountRange {
  std::uint32_t least = 0;
  std::uint32_t most = UINT32_MAX;
  friend bool operator==(const CountRange&, const CountRange&) = default;
};

/// What a machine must have for an entry of `topologies:`. Counts are of what this process may use.
struct TopologyCondition {
  CountRange nodes;              ///< NUMA nodes with CPUs
  CountRange cpus;               ///< hardware threads
  std::size_t memory_bytes = 0;  ///< at least
  friend bool operator==(const TopologyCondition&, const TopologyCondition&) = default;
};

/// One entry of `topologies:`. The first that fits the machine is taken.
struct TopologySection : PlacementOptions {
  std::string name;
  TopologyCondition when;
};

/// What happens when the memory limit is reached.
enum class when_full : std::uint8_t {
  evict,  ///< the items idle for longest go
  error,  ///< what needs more memory fails
};

/// When what was written is on disk, as clients may rely on it.
enum class sync_mode : std::uint8_t {
  commit,    ///< a reply leaves when what it tells is on disk
  interval,  ///< replies do not wait; the disk is at most so far behind
  never,     ///< the system writes when it likes
};

/// What reads may show while sync is commit.
enum class read_mode : std::uint8_t {
  durable,  ///< nothing that a power cut could take back
  latest,   ///< what is in memory
};

/// What becomes of the daemon when the disk refuses to write.
enum class failure_action : std::uint8_t { refuse, exit };

/// When the store is written out as a whole, so that the journal before may go.
struct CheckpointOptions {
  std::size_t journal_bytes = 0;  ///< begins when the journal has grown by so much; 0: by the last one's size
  std::uint32_t every_ms = 0;     ///< begins so long after the last one; 0: only by bytes
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
  std::size_t journal_most_bytes = 0;      ///< above it writes are refused; 0: found out
  failure_action on_failure = failure_action::refuse;
  CheckpointOptions checkpoint;
  bool recover_prefix = false;  ///< go on without what stands behind damage; said by a flag alone
};

/// One node of a cluster (server/cluster/). Shards and replicas are in the cluster's map.
struct ClusterOptions {
  std::string name;                               ///< of the cluster; empty: there is none
  std::vector<std::string> brokers;               ///< host:port each
  std::map<std::string, std::string> properties;  ///< for the library that talks to the brokers
  std::string node;                               ///< this one's name; empty: the host's
  std::optional<ListenAddress> peer;              ///< where the other nodes come to; never a unix socket
  TlsOptions tls{.minimum = tls_version::v1_3};   ///< between nodes; both show a certificate, of client_ca
  std::string advertise;             ///< address:port that the other nodes use; empty: the address of `peer`
  std::string address;               ///< address:port that clients are told; empty: the first listener's
  std::uint32_t lease_ms = 3000;     ///< for the tools that write the map, whose lease is the one that counts
  bool forward = true;               ///< requests for another node's shard are passed on to it
  std::uint32_t patience_ms = 1000;  ///< how long a request waits for a shard to have an owner
  std::uint32_t deadline_ms = 10'000;  ///< how long a reply waits for the brokers to acknowledge
  std::uint32_t staleness_ms = 1000;  ///< how old an answer may be, of listeners with listener_reads::replica
  std::uint64_t snapshot_bytes = std::uint64_t{64}
                                 << 20U;  ///< of a shard's log, at least, between two snapshots
};

/// All of them.
struct DaemonOptions : PlacementOptions {
  std::vector<TopologySection> topologies;  ///< in place of workers, cpus and nodes
  runtime::MemoryOptions memory;
  std::uint32_t memory_limit_percent = 0;  ///< of the machine's or control group's, in place of limit_bytes
  config::when_full when_full = config::when_full::evict;
  bool evacuation = true;  ///< items are moved out of sparse spans
  runtime::PrefetchOptions prefetch;
  std::uint32_t pools = 4;  ///< task pools of a worker, besides the pinned one
  runtime::stealing_scope stealing = runtime::RuntimeOptions{}.stealing;
  runtime::stealing_scope order_reach = runtime::RuntimeOptions{}.order_reach;
  runtime::task_order order = runtime::RuntimeOptions{}.order;
  runtime::RebalanceOptions rebalance;
  runtime::EpochOptions epoch;
  IndexOptions index;
  runtime::ToggleOptions toggle{.order = runtime::interval_order::queue, .slots_per_bucket = 32};
  read_offering offer_reads = read_offering::off;
  std::uint32_t spin_rounds = 64;  ///< empty rounds before an idle worker blocks
  std::vector<ListenAddress> listeners{ListenAddress{}};
  LimitOptions limits;
  StatsOptions stats;
  ServerOptions server;
  AdminOptions admin;
  BalanceOptions balance;
  LogOptions log;
  DurabilityOptions durability;
  ClusterOptions cluster;
  Origins origins;  ///< who set what; for errors and print-config, never for behaviour
};

}  // namespace mxkv::config
