#include "server/stats/statistics.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "protocol/reply.hpp"
#include "server/cluster/cluster_node.hpp"
#include "server/net/observe/version.hpp"
#include "server/stats/class_stats.hpp"
#include "server/stats/cluster_stats.hpp"
#include "server/stats/durability_stats.hpp"
#include "server/stats/lock_stats.hpp"
#include "server/stats/memory_stats.hpp"
#include "server/stats/observed_stats.hpp"
#include "server/stats/place_stats.hpp"
#include "server/stats/quota_stats.hpp"
#include "server/stats/stat_text.hpp"
#include "server/stats/watch_stats.hpp"
#include "server/store/item/expiry.hpp"

namespace mxkv::server {

namespace {

/// Counters of the store under memcached's names, in its order.
constexpr std::array kStoreNames{
    std::pair{counter::cmd_set, "cmd_set"},
    std::pair{counter::cmd_flush, "cmd_flush"},
    std::pair{counter::cmd_touch, "cmd_touch"},
    std::pair{counter::cmd_scan, "cmd_scan"},
    std::pair{counter::get_hits, "get_hits"},
    std::pair{counter::get_misses, "get_misses"},
    std::pair{counter::get_expired, "get_expired"},
    std::pair{counter::get_flushed, "get_flushed"},
    std::pair{counter::delete_misses, "delete_misses"},
    std::pair{counter::delete_hits, "delete_hits"},
    std::pair{counter::incr_misses, "incr_misses"},
    std::pair{counter::incr_hits, "incr_hits"},
    std::pair{counter::decr_misses, "decr_misses"},
    std::pair{counter::decr_hits, "decr_hits"},
    std::pair{counter::cas_misses, "cas_misses"},
    std::pair{counter::cas_hits, "cas_hits"},
    std::pair{counter::cas_badval, "cas_badval"},
    std::pair{counter::touch_hits, "touch_hits"},
    std::pair{counter::touch_misses, "touch_misses"},
    std::pair{counter::cmd_range_count, "cmd_range_count"},
    std::pair{counter::cmd_range_delete, "cmd_range_delete"},
    std::pair{counter::range_deleted_items, "range_deleted_items"},
    std::pair{counter::cmd_range_touch, "cmd_range_touch"},
    std::pair{counter::range_touched_items, "range_touched_items"},
    std::pair{counter::cmd_batch, "cmd_batch"},
    std::pair{counter::batch_failures, "batch_failures"},
    std::pair{counter::scan_items, "scan_items"},
    std::pair{counter::store_no_memory, "store_no_memory"},
    std::pair{counter::store_too_large, "store_too_large"},
    std::pair{counter::cmd_meta, "cmd_meta"},
};

/// Names of memcached's hash table, LRU lists, slabs and buffer pools, which mxkv does not have. Exporters
/// and tools ask for them.
constexpr std::array kNamesOfOthers{"hash_power_level",
                                    "hash_bytes",
                                    "hash_is_expanding",
                                    "slab_reassign_rescues",
                                    "slab_reassign_chunk_rescues",
                                    "slab_reassign_evictions_nomem",
                                    "slab_reassign_inline_reclaim",
                                    "slab_reassign_busy_items",
                                    "slab_reassign_busy_deletes",
                                    "slab_reassign_running",
                                    "slabs_moved",
                                    "slab_global_page_pool",
                                    "lru_crawler_running",
                                    "lru_maintainer_juggles",
                                    "evicted_active",
                                    "crawler_items_checked",
                                    "lrutail_reflocked",
                                    "lru_bumps_dropped",
                                    "moves_to_cold",
                                    "moves_to_warm",
                                    "moves_within_lru",
                                    "direct_reclaims",
                                    "response_obj_oom",
                                    "response_obj_count",
                                    "response_obj_bytes",
                                    "read_buf_count",
                                    "read_buf_bytes",
                                    "read_buf_bytes_free",
                                    "read_buf_oom"};

// Adds the prefetch setting of a worker, and the distance in force.
void add_prefetch(StatText& text, const std::string& prefix, const runtime::Worker& worker) {
  const runtime::PrefetchInForce now = worker.prefetch_in_force();
  const bool by_distance = now.mode == runtime::prefetch_mode::distance;
  text.add(prefix + "prefetch", prefetch_mode_name(now.tuned ? runtime::prefetch_mode::tuned : now.mode));
  text.add(prefix + "prefetch_in_force",
           by_distance ? std::to_string(now.distance) : std::string{prefetch_mode_name(now.mode)});
}

}  // namespace

Statistics::Statistics(runtime::Runtime& runtime, Store& store, const config::DaemonOptions& options,
                       const Credentials& credentials)
    : runtime_(runtime),
      store_(store),
      options_(options),
      credentials_(credentials),
      shutdown_command_(options.server.shutdown_command),
      started_ns_(runtime.clock().monotonic_ns()) {}

std::string Statistics::text(std::string_view group, AdminCursor& cursor) {
  StatText text;
  if (group.empty()) {
    general(text);
  } else if (group == "settings") {
    settings(text);
  } else if (group == "runtime") {
    runtime_group(text);
  } else if (group == "index") {
    index_group(text);
  } else if (group == "locks") {
    add_lock_stats(text, store_);
  } else if (group == "durability") {
    if (durability_ != nullptr) {
      add_durability_stats(text, *durability_, network_->stats());
    }
  } else if (group == "cluster") {
    if (cluster_ != nullptr) {
      add_cluster_stats(text, cluster_->status(), routed_->forwarded());
    }
  } else if (group == "watch") {
    if (feed_ != nullptr) {
      add_watch_stats(text, *feed_);
    }
  } else if (group == "memory") {
    add_memory_stats(text, runtime_, store_, census_);
  } else if (group == "prefixes") {
    add_quota_stats(text, store_, cursor.user);
  } else if (group == "items") {
    add_item_stats(text, runtime_, store_, items(), item_bytes());
  } else if (group == "slabs") {
    add_slab_stats(text, runtime_, store_);
  } else if (group == "sizes") {
    add_size_stats(text, runtime_);
  } else if (group == "conns") {
    add_connection_stats(text, *network_, cursor);
  } else if (group == "latency") {
    add_latency_stats(text, *network_, latencies_before_reset());
  } else if (group == "slow") {
    add_slow_stats(text, *network_);
  } else if (group == "hot") {
    add_hot_stats(text, *network_, runtime_.clock().monotonic_ns());
  } else if (group.starts_with("detail")) {
    return detail(group, cursor);
  } else if (group == "reset") {
    reset();
    network_->forget_samples();
    store_.watch_hub().prefixes().clear();
    return std::string{protocol::kReset};
  } else {
    cursor.code = protocol::reply_code::not_found;
    return std::string{protocol::kError};
  }
  return cursor.more ? std::move(text).page() : std::move(text).finish();
}

std::string Statistics::detail(std::string_view group, AdminCursor& cursor) {
  WatchHub& hub = store_.watch_hub();
  if (group == "detail dump") {
    std::string text = hub.prefixes().text();
    if (text.size() > protocol::kEnd.size()) {  // the binary protocol cannot say prefixes
      cursor.code = protocol::reply_code::not_found;
    }
    return text;
  }
  if (group != "detail on" && group != "detail off") {
    cursor.code = protocol::reply_code::not_found;
    return "CLIENT_ERROR usage: stats detail on|off|dump\r\n";
  }
  hub.count_prefixes(group == "detail on");
  return std::string{protocol::kOk};
}

Statistics::Counters Statistics::counters() const noexcept {
  Counters now;
  for (std::size_t i = 0; i < kCounters; ++i) {
    now.store[i] = store_.total(static_cast<counter>(i));
  }
  now.net = network_->stats();
  now.auth_commands = credentials_.commands();
  now.auth_errors = credentials_.errors();
  now.auth_forbidden = credentials_.forbidden();
  now.auth_crowded = credentials_.crowded();
  return now;
}

Statistics::Counters Statistics::since_reset() {
  Counters now = counters();
  const std::scoped_lock lock{mutex_};
  std::transform(now.store.begin(), now.store.end(), baseline_.store.begin(), now.store.begin(),
                 std::minus{});
  now.net.read_bytes -= baseline_.net.read_bytes;
  now.net.written_bytes -= baseline_.net.written_bytes;
  now.net.yields -= baseline_.net.yields;
  now.net.stalled -= baseline_.net.stalled;
  now.net.idle_closed -= baseline_.net.idle_closed;
  now.net.output_full -= baseline_.net.output_full;
  now.net.input_full -= baseline_.net.input_full;
  now.net.journal_pauses -= baseline_.net.journal_pauses;
  now.net.moved_connections -= baseline_.net.moved_connections;
  now.net.handshakes -= baseline_.net.handshakes;
  now.net.handshake_errors -= baseline_.net.handshake_errors;
  now.net.tls_by_kernel -= baseline_.net.tls_by_kernel;
  now.auth_commands -= baseline_.auth_commands;
  now.auth_errors -= baseline_.auth_errors;
  now.auth_forbidden -= baseline_.auth_forbidden;
  now.auth_crowded -= baseline_.auth_crowded;
  now.net.crowded_connections -= baseline_.net.crowded_connections;
  now.net.rate_pauses -= baseline_.net.rate_pauses;
  now.net.total_connections -= baseline_.net.total_connections;
  now.net.near_connections -= baseline_.net.near_connections;
  now.net.rejected_connections -= baseline_.net.rejected_connections;
  now.net.starved_connections -= baseline_.net.starved_connections;
  now.net.shortages -= baseline_.net.shortages;
  now.net.shortage_us -= baseline_.net.shortage_us;
  return now;
}

void Statistics::reset() {
  const Counters now = counters();
  LatencyLook latencies = look_at_latencies(*network_);
  const std::scoped_lock lock{mutex_};
  baseline_ = now;
  latencies_before_ = std::move(latencies);
}

LatencyLook Statistics::latencies_before_reset() {
  const std::scoped_lock lock{mutex_};
  return latencies_before_;
}

// Differences since the start, not since the reset: a reset does not remove items. The counters are read one
// after the other, so their difference may briefly be below zero.
std::uint64_t Statistics::items() const noexcept {
  const std::uint64_t removed = store_.total(counter::items_removed);
  const std::uint64_t added = store_.total(counter::items_added);
  return added > removed ? added - removed : 0;
}

std::uint64_t Statistics::item_bytes() const noexcept {
  const std::uint64_t removed = store_.total(counter::bytes_removed);
  const auto bytes = static_cast<std::int64_t>(store_.total(counter::bytes_added) - removed);
  return bytes > 0 ? static_cast<std::uint64_t>(bytes) : 0;
}

void Statistics::general(StatText& text) {
  constexpr std::uint64_t kNsPerSecond = 1'000'000'000;
  const Counters now = since_reset();
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  text.add("pid", getpid());
  text.add("uptime", (runtime_.clock().monotonic_ns() - started_ns_) / kNsPerSecond);
  text.add("time", runtime_.clock().unix_us() / kUsPerSecond);
  text.add("version", kSpokenVersion);
  text.add("mxkv_version", MXKV_VERSION);
  text.add("pointer_size", 8 * sizeof(void*));
  text.add_seconds("rusage_user", usage.ru_utime.tv_sec, usage.ru_utime.tv_usec);
  text.add_seconds("rusage_system", usage.ru_stime.tv_sec, usage.ru_stime.tv_usec);
  text.add("max_connections", network_->settings().limits.connections);
  text.add("curr_connections", now.net.open_connections);
  text.add("total_connections", now.net.total_connections);
  text.add("rejected_connections",
           now.net.rejected_connections + now.net.crowded_connections + now.net.starved_connections);
  text.add("starved_connections", now.net.starved_connections);
  text.add("rejected_per_client", now.net.crowded_connections);
  text.add("rejected_per_user", now.auth_crowded);
  text.add("rate_pauses", now.net.rate_pauses);
  text.add("stalled_connections", now.net.stalled);
  text.add("output_full_connections", now.net.output_full);
  text.add("input_full_connections", now.net.input_full);
  text.add("idle_kicks", now.net.idle_closed);
  const auto count_of = [&now](counter which) { return now.store[static_cast<std::size_t>(which)]; };
  text.add("cmd_get", count_of(counter::get_hits) + count_of(counter::get_misses));
  for (const auto& [which, name] : kStoreNames) {
    text.add(name, count_of(which));
  }
  text.add("tls_connections", now.net.tls_connections);
  text.add("tls_handshakes", now.net.handshakes);
  text.add("ssl_handshake_errors", now.net.handshake_errors);
  text.add("tls_by_kernel", now.net.tls_by_kernel);
  text.add("auth_cmds", now.auth_commands);
  text.add("auth_errors", now.auth_errors);
  text.add("auth_forbidden", now.auth_forbidden);
  text.add("bytes_read", now.net.read_bytes);
  text.add("bytes_written", now.net.written_bytes);
  text.add("limit_maxbytes", runtime_.budget().limit_bytes());
  text.add("accepting_conns", now.net.accepting ? 1 : 0);
  text.add("conn_yields", now.net.yields);
  text.add("connections_moved", now.net.moved_connections);
  text.add("connections_near", now.net.near_connections);
  text.add("conn_journal_pauses", now.net.journal_pauses);
  text.add("threads", runtime_.worker_count());
  text.add("bytes", item_bytes());
  text.add("curr_items", items());
  text.add("total_items", now.store[static_cast<std::size_t>(counter::total_items)]);
  text.add("evictions", now.store[static_cast<std::size_t>(counter::evictions)]);
  text.add("evicted_unfetched", now.store[static_cast<std::size_t>(counter::evicted_unfetched)]);
  text.add("ghost_returns", now.store[static_cast<std::size_t>(counter::ghost_returns)]);
  text.add("reclaimed", now.store[static_cast<std::size_t>(counter::reclaimed)]);
  text.add("expired_unfetched", now.store[static_cast<std::size_t>(counter::expired_unfetched)]);
  text.add("crawler_reclaimed", now.store[static_cast<std::size_t>(counter::swept_items)]);
  text.add("lru_crawler_starts", store_.sweep().sweeps());
  const ExpiredPresent::Estimate present = store_.expired_present().estimate();
  text.add("expired_present_items", present.items);
  text.add("expired_present_bytes", present.bytes);
  text.add("log_watchers", store_.watch_hub().watchers());
  text.add("log_watcher_sent", store_.watch_hub().sent());
  text.add("log_watcher_skipped", store_.watch_hub().lost());
  text.add("listen_disabled_num",
           now.net.rejected_connections + now.net.crowded_connections + now.net.shortages);
  text.add("time_in_listen_disabled_us", now.net.shortage_us);
  text.add("total_malloced", runtime_.budget().category_bytes(runtime::memory_category::items));
  text.add("connection_structures", now.net.open_connections);
  text.add("malloc_fails", now.store[static_cast<std::size_t>(counter::store_no_memory)]);
  for (const char* name : kNamesOfOthers) {
    text.add(name, 0);
  }
}

void Statistics::settings(StatText& text) const {
  const Network::Settings settings = network_->settings();
  const config::LimitOptions& limits = settings.limits;
  text.add("maxbytes", runtime_.budget().limit_bytes());
  text.add("maxconns", limits.connections);
  const auto tcp = std::ranges::find(listeners_, std::string{}, &config::ListenAddress::path);
  const auto local = std::ranges::find_if_not(listeners_, &std::string::empty, &config::ListenAddress::path);
  text.add("tcpport", tcp == listeners_.end() ? 0 : tcp->port);
  text.add("udpport", 0);
  text.add("inter", tcp == listeners_.end() ? "NULL" : tcp->address);
  text.add("domain_socket", local == listeners_.end() ? "NULL" : local->path);
  text.add("verbosity", verbosity_.load(std::memory_order_relaxed));
  text.add("evictions", store_.evicts() ? "on" : "off");
  text.add("evict_for", store_.weighs_size() ? "requests" : "bytes");
  text.add("num_threads", runtime_.worker_count());
  text.add("reqs_per_event", limits.requests_per_turn);
  text.add("cas_enabled", "yes");
  text.add("auth_enabled_sasl", credentials_.required() ? "yes" : "no");
  text.add("auth_enabled_ascii", credentials_.required() ? "yes" : "no");
  const auto speaks_tls = [](const config::ListenAddress& listener) { return listener.tls.has_value(); };
  text.add("ssl_enabled", std::ranges::any_of(listeners_, speaks_tls) ? "yes" : "no");
  text.add("item_size_max", limits.value_bytes);
  text.add("flush_enabled", "yes");
  text.add("dump_enabled", "yes");
  text.add("shutdown_command", shutdown_command_.load(std::memory_order_relaxed) ? "yes" : "no");
  text.add("debug_time", options_.server.debug_time ? "yes" : "no");
  text.add("idle_timeout", limits.idle_timeout_ms / 1000);
  text.add("keepalive", limits.keepalive_ms / 1000);
  text.add("get_line_bytes", limits.get_line_bytes);
  text.add("output_high_water", limits.output_high_water);
  text.add("pipeline", limits.pipeline);
  text.add("locked_items", limits.locked_items);
  text.add("scan_items", limits.scan_items);
  text.add("scan_bytes", limits.scan_bytes);
  text.add("batch_lines", limits.batch_lines);
  text.add("batch_bytes", limits.batch_bytes);
  text.add("stat_key_prefix", ":");
  text.add("detail_enabled", store_.watch_hub().counts_prefixes() ? "yes" : "no");
  text.add("binding_protocol", "auto-negotiate");
  // Sweeps for expired items correspond to memcached's crawler, and exporters only read the sweeps' numbers
  // if there is a crawler. There are neither LRU lists nor slabs to move.
  text.add("lru_crawler", "yes");
  for (const char* name : {"lru_maintainer_thread", "lru_segmented", "slab_reassign"}) {
    text.add(name, "no");
  }
  for (const char* name : {"lru_crawler_sleep", "lru_crawler_tocrawl", "hot_lru_pct", "warm_lru_pct",
                           "hot_max_factor", "warm_max_factor", "slab_automove"}) {
    text.add(name, 0);
  }
  text.add("stats_sample", settings.stats.sample);
  text.add("stats_slow_ms", settings.stats.slow_ms);
}

void Statistics::runtime_group(StatText& text) const {
  text.add("order", runtime_.options().order == runtime::task_order::las ? "las" : "nls");
  text.add("misplaced_submits", runtime_.misplaced());
  index::UnlinkCounters& unlinks = store_.tree().unlinks();
  text.add("leaves_unlinked", unlinks.leaves.load(std::memory_order_relaxed));
  text.add("leaves_merged", unlinks.merges.load(std::memory_order_relaxed));
  text.add("inner_nodes_folded", unlinks.branches.load(std::memory_order_relaxed));
  text.add("unlink_waits", unlinks.waits.load(std::memory_order_relaxed));
  text.add("unlinks_handed_on", unlinks.handed_on.load(std::memory_order_relaxed));
  add_place_stats(text, runtime_, store_);
  const std::vector<std::uint64_t> connections = network_->connections_by_worker();
  const std::uint64_t now_ns = runtime_.clock().monotonic_ns();
  for (std::size_t i = 0; i < runtime_.worker_count(); ++i) {
    const runtime::Worker& one = runtime_.worker(runtime::WorkerId{static_cast<std::uint16_t>(i)});
    const runtime::WorkerCounters& counters = one.counters();
    const std::string worker = "worker:" + std::to_string(i) + ":";
    const auto add = [&](const char* name, const std::atomic<std::uint64_t>& value) {
      text.add(worker + name, value.load(std::memory_order_relaxed));
    };
    text.add(worker + "connections", connections[i]);
    text.add(worker + "idle_us", one.idle_clock().sum_ns(now_ns) / 1000);
    add("tasks", counters.tasks);
    add("ended", counters.ended);
    add("retries", counters.retries);
    add("stuck", counters.stuck);
    add("conflicts", counters.conflicts);
    add("bound", counters.bound);
    add("parks", counters.parks);
    add("wakes", counters.wakes);
    add("reclaimed", counters.reclaimed);
    add("reclaims", counters.reclaims);
    add("urgent_reclaims", counters.urgent_reclaims);
    add("retired_bytes", counters.retired_bytes);
    add("pools_stolen", counters.pools_stolen);
    add("tasks_stolen", counters.tasks_stolen);
    add("urgent", counters.urgent);
    add("low", counters.low);
    add("placed", counters.placed);
    add("misplaced", counters.misplaced);
    add_prefetch(text, worker, one);
    constexpr const char* kRefills[] = {"immediate_own", "immediate_group", "deferred_group",
                                        "deferred_far",  "immediate_node",  "immediate_far"};
    for (std::size_t rule = 0; rule < std::size(kRefills); ++rule) {
      add(kRefills[rule], counters.refills[rule]);
      text.add(worker + "rule_" + std::to_string(rule + 1),
               counters.refills[rule].load(std::memory_order_relaxed));
    }
  }
}

void Statistics::index_group(StatText& text) const {
  text.add("levels", store_.tree().root_level() + 1);
  text.add("items", items());
  text.add("node_bytes", runtime_.budget().category_bytes(runtime::memory_category::index));
}

}  // namespace mxkv::server
