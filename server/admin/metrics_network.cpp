// Metrics of connections, and of the process.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <system_error>

#include "server/admin/metrics.hpp"
#include "server/store/item/expiry.hpp"

namespace mxkv::server {

namespace {

using type = Exposition::type;

std::uint64_t resident_bytes() {
  unsigned long long all = 0;
  unsigned long long resident = 0;
  if (std::FILE* const file = std::fopen("/proc/self/statm", "re"); file != nullptr) {
    if (std::fscanf(file, "%llu %llu", &all, &resident) != 2) {
      resident = 0;
    }
    std::fclose(file);
  }
  return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

/// Without the one that reads them.
std::uint64_t open_descriptors() {
  std::error_code unreadable;
  const std::filesystem::directory_iterator all{"/proc/self/fd", unreadable};
  const auto count = std::distance(begin(all), end(all));
  return static_cast<std::uint64_t>(std::max<std::ptrdiff_t>(count - 1, 0));
}

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

}  // namespace

void write_process(Exposition& out, const Health::State& state, const HttpCounters& http) {
  out.family(type::info, "mxkv_build", "Version of the server.");
  out.add({{"version", MXKV_VERSION}}, 1);
  out.family(type::gauge, "mxkv_ready", "1 if /readyz reports that the server is ready.");
  out.add(state.ready() ? 1 : 0);
  out.family(type::gauge, "mxkv_state", "1 for the current state of the server, 0 for the others.");
  for (const serving one : {serving::starting, serving::recovering, serving::serves, serving::draining}) {
    out.add({{"state", name_of(one)}}, state.now == one ? 1 : 0);
  }
  out.family(
      type::gauge, "mxkv_overloaded",
      "1 if the server refuses writes or connections, or a worker is stuck; /readyz gives the reason.");
  out.add(state.overloads.empty() ? 0 : 1);
  out.family(type::gauge, "mxkv_recovery_ratio", "Completed part of the recovery from the journal, 0 to 1.");
  out.add_real(state.recovered);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  out.family(type::counter, "process_cpu_seconds", "User and system CPU time of the process.");
  out.add_real(seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime));
  out.family(type::gauge, "process_resident_memory_bytes", "Resident memory of the process.");
  out.add(resident_bytes());
  out.family(type::gauge, "process_open_fds", "Open file descriptors of the process.");
  out.add(open_descriptors());
  rlimit descriptors{};
  getrlimit(RLIMIT_NOFILE, &descriptors);
  out.family(type::gauge, "process_max_fds", "Limit of open file descriptors of the process.");
  out.add(descriptors.rlim_cur);
  out.family(type::gauge, "process_start_time_seconds", "Start time of the process, in seconds since 1970.");
  out.add_real(state.started_unix_s);
  out.family(type::counter, "mxkv_admin_requests", "HTTP requests.");
  out.add(http.requests);
  out.family(type::counter, "mxkv_admin_requests_refused",
             "HTTP requests that were malformed and therefore refused.");
  out.add(http.refused);
  out.family(type::counter, "mxkv_admin_login_failures", "Failed HTTP logins.");
  out.add(http.wrong_logins);
  out.family(type::counter, "mxkv_admin_tls_handshakes", "Completed TLS handshakes of HTTP connections.");
  out.add(http.handshakes);
  out.family(type::counter, "mxkv_admin_tls_handshake_errors", "Failed TLS handshakes of HTTP connections.");
  out.add(http.handshake_errors);
  out.family(type::gauge, "mxkv_admin_connections", "Open HTTP connections.");
  out.add(http.open);
  out.family(type::counter, "mxkv_admin_connections_displaced",
             "HTTP connections that were closed to make room for new ones.");
  out.add(http.displaced);
}

void write_certificates(Exposition& out, const std::vector<CertificateEnd>& certificates) {
  out.family(type::gauge, "mxkv_certificate_expiry_timestamp_seconds",
             "Time at which the certificate of a listener expires, in seconds since 1970.");
  for (const CertificateEnd& one : certificates) {
    if (one.unix_s > 0) {
      out.add({{"listener", one.listener}}, static_cast<std::uint64_t>(one.unix_s));
    }
  }
}

void write_network(Exposition& out, const ServingParts& parts) {
  const Statistics::Counters counters = parts.statistics.counters();
  const NetStats& net = counters.net;
  const auto one = [&out](type what, const char* name, const char* help, std::uint64_t value) {
    out.family(what, name, help);
    out.add(value);
  };
  one(type::gauge, "mxkv_connections", "Open client connections.", net.open_connections);
  one(type::gauge, "mxkv_connections_limit", "Limit of open client connections (limits.connections).",
      parts.network.settings().limits.connections);
  one(type::gauge, "mxkv_connections_accepting",
      "0 if new connections wait because no file descriptor is free, else 1.", net.accepting ? 1 : 0);
  one(type::counter, "mxkv_connections_accepted", "Accepted client connections.", net.total_connections);
  out.family(type::counter, "mxkv_connections_refused", "Refused client connections, by reason.");
  out.add({{"reason", "limit"}}, net.rejected_connections);
  out.add({{"reason", "client"}}, net.crowded_connections);
  out.add({{"reason", "user"}}, counters.auth_crowded);
  out.add({{"reason", "descriptors"}}, net.starved_connections);
  out.family(type::counter, "mxkv_connections_closed",
             "Client connections that the server closed, by reason.");
  out.add({{"reason", "stalled"}}, net.stalled);
  out.add({{"reason", "output_full"}}, net.output_full);
  out.add({{"reason", "input_full"}}, net.input_full);
  out.add({{"reason", "idle"}}, net.idle_closed);
  out.add({{"reason", "journal"}}, net.journal_closed);
  one(type::counter, "mxkv_connections_moved", "Client connections that moved to a less busy worker.",
      net.moved_connections);
  one(type::counter, "mxkv_connections_near",
      "Client connections whose first worker is on the NUMA node of their network card.",
      net.near_connections);
  one(type::counter, "mxkv_connection_yields",
      "Turns that ended because the connection had used up limits.requests_per_turn.", net.yields);
  one(type::counter, "mxkv_connection_rate_pauses",
      "Times that a connection was not read because its user or address had reached its rate limit.",
      net.rate_pauses);
  one(type::gauge, "mxkv_connections_held", "Client connections whose replies wait for the disk.", net.held);
  one(type::counter, "mxkv_connection_journal_pauses",
      "Times that a connection was not read because too many bytes waited for the journal.",
      net.journal_pauses);
  one(type::counter, "mxkv_descriptor_shortages", "Times that the process ran out of file descriptors.",
      net.shortages);
  out.family(type::counter, "mxkv_descriptor_shortage_seconds", "Time without a free file descriptor.");
  out.add_real(static_cast<double>(net.shortage_us) / 1e6);
  one(type::counter, "mxkv_network_receive_bytes", "Bytes received from clients.", net.read_bytes);
  one(type::counter, "mxkv_network_transmit_bytes", "Bytes sent to clients.", net.written_bytes);
  one(type::gauge, "mxkv_tls_connections", "Open client connections that use TLS.", net.tls_connections);
  one(type::counter, "mxkv_tls_handshakes", "Completed TLS handshakes of client connections.",
      net.handshakes);
  one(type::counter, "mxkv_tls_handshake_errors", "Failed TLS handshakes of client connections.",
      net.handshake_errors);
  one(type::counter, "mxkv_tls_connections_by_kernel", "TLS connections whose records the kernel encrypts.",
      net.tls_by_kernel);
  one(type::counter, "mxkv_logins", "Logins, including failed ones and logins over HTTP.",
      counters.auth_commands);
  one(type::counter, "mxkv_login_failures", "Failed logins, including those over HTTP.",
      counters.auth_errors);
  one(type::counter, "mxkv_forbidden_requests",
      "Requests that were refused because the user lacks the right.", counters.auth_forbidden);
  one(type::gauge, "mxkv_watchers", "Open connections that run watch.", parts.store.watch_hub().watchers());
  one(type::counter, "mxkv_watch_lines", "Lines sent to connections that run watch.",
      parts.store.watch_hub().sent());
  one(type::counter, "mxkv_watch_lines_lost",
      "Lines dropped because a connection that runs watch read too slowly.", parts.store.watch_hub().lost());
}

void write_watches(Exposition& out, const ServingParts& parts) {
  static const HeraldCounts kNone;
  const Feed* const feed = parts.feed;  // null: the server gives no watches
  const HeraldCounts& counts = feed != nullptr ? feed->herald().counts() : kNone;
  const auto one = [&out](type what, const char* name, const char* help, std::uint64_t value) {
    out.family(what, name, help);
    out.add(value);
  };
  const auto load = [](const std::atomic<std::uint64_t>& counter) {
    return counter.load(std::memory_order_relaxed);
  };
  one(type::gauge, "mxkv_range_watches", "Watches of ranges (mw).", load(counts.watches));
  one(type::gauge, "mxkv_range_watches_behind",
      "Watches of ranges that read the log for themselves, because their clients read too slowly or "
      "returned.",
      load(counts.behind));
  one(type::gauge, "mxkv_range_watch_unread_bytes", "Bytes of lines that clients with watches have not read.",
      feed != nullptr ? feed->herald().unread_bytes() : 0);
  one(type::gauge, "mxkv_range_watch_ring_bytes", "Bytes of recent changes that are kept for watches.",
      feed != nullptr ? feed->ring_bytes() : 0);
  one(type::gauge, "mxkv_range_watch_history_bytes",
      "Bytes of the journal that no checkpoint needs, and that are kept for watches.",
      feed != nullptr ? feed->history_bytes() : 0);
  one(type::counter, "mxkv_range_watch_changes", "Changes read for watches of ranges.", load(counts.changes));
  one(type::counter, "mxkv_range_watch_lines", "Changes told to watches of ranges, once a watch.",
      load(counts.told));
  one(type::counter, "mxkv_range_watches_fallen_behind",
      "Times that a watch of a range fell behind, because its client read too slowly.", load(counts.falls));
  one(type::counter, "mxkv_range_watch_gaps",
      "Gaps in the log of changes, each of which ended all watches of ranges.", load(counts.gaps));
  one(type::counter, "mxkv_range_watches_old",
      "Watches of ranges that ended, or did not begin, because the changes behind their position are gone.",
      load(counts.old));
}

}  // namespace mxkv::server
