// Metrics of connections, and of the process.
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>

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

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

}  // namespace

void write_process(Exposition& out, const Health::State& state, const HttpCounters& http) {
  out.family(type::info, "mxkv_build", "Version of the server");
  out.add({{"version", MXKV_VERSION}}, 1);
  out.family(type::gauge, "mxkv_ready", "1: /readyz says that it is ready");
  out.add(state.ready() ? 1 : 0);
  out.family(type::gauge, "mxkv_state", "1 at the state that the server is in");
  for (const serving one : {serving::starting, serving::recovering, serving::serves, serving::draining}) {
    out.add({{"state", name_of(one)}}, state.now == one ? 1 : 0);
  }
  out.family(type::gauge, "mxkv_overloaded",
             "1: the server refuses writes or connections, or a worker hangs; /readyz says which");
  out.add(state.overloads.empty() ? 0 : 1);
  out.family(type::gauge, "mxkv_recovery_ratio", "Part of the journal's recovery that is done");
  out.add_real(state.recovered);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  out.family(type::counter, "process_cpu_seconds", "CPU time of the process, in user mode and in the system");
  out.add_real(seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime));
  out.family(type::gauge, "process_resident_memory_bytes", "Memory of the process that is in RAM");
  out.add(resident_bytes());
  out.family(type::gauge, "process_start_time_seconds", "When the process started, since 1970");
  out.add_real(state.started_unix_s);
  out.family(type::counter, "mxkv_admin_requests", "Requests by HTTP");
  out.add(http.requests);
  out.family(type::counter, "mxkv_admin_requests_refused", "Of requests by HTTP, those that were wrong");
  out.add(http.refused);
  out.family(type::counter, "mxkv_admin_login_failures", "Logins by HTTP that failed");
  out.add(http.wrong_logins);
  out.family(type::counter, "mxkv_admin_tls_handshakes", "TLS handshakes by HTTP that ended well");
  out.add(http.handshakes);
  out.family(type::counter, "mxkv_admin_tls_handshake_errors", "TLS handshakes by HTTP that failed");
  out.add(http.handshake_errors);
  out.family(type::gauge, "mxkv_admin_connections", "Connections by HTTP");
  out.add(http.open);
  out.family(type::counter, "mxkv_admin_connections_displaced",
             "Connections by HTTP that were closed to make room for another");
  out.add(http.displaced);
}

void write_network(Exposition& out, const ServingParts& parts) {
  const Statistics::Counters counters = parts.statistics.counters();
  const NetStats& net = counters.net;
  const auto one = [&out](type what, const char* name, const char* help, std::uint64_t value) {
    out.family(what, name, help);
    out.add(value);
  };
  one(type::gauge, "mxkv_connections", "Connections of clients", net.open_connections);
  one(type::gauge, "mxkv_connections_limit", "Most connections of clients (limits.connections)",
      parts.network.settings().limits.connections);
  one(type::gauge, "mxkv_connections_accepting", "0: connections wait, since there is no descriptor left",
      net.accepting ? 1 : 0);
  one(type::counter, "mxkv_connections_accepted", "Connections that were ever accepted",
      net.total_connections);
  out.family(type::counter, "mxkv_connections_refused", "Connections that were refused, by why");
  out.add({{"reason", "limit"}}, net.rejected_connections);
  out.add({{"reason", "client"}}, net.crowded_connections);
  out.add({{"reason", "user"}}, counters.auth_crowded);
  out.add({{"reason", "descriptors"}}, net.starved_connections);
  out.family(type::counter, "mxkv_connections_closed", "Connections that the server closed, by why");
  out.add({{"reason", "stalled"}}, net.stalled);
  out.add({{"reason", "output_full"}}, net.output_full);
  out.add({{"reason", "input_full"}}, net.input_full);
  out.add({{"reason", "idle"}}, net.idle_closed);
  out.add({{"reason", "journal"}}, net.journal_closed);
  one(type::counter, "mxkv_connections_moved", "Connections that went to a worker with less to do",
      net.moved_connections);
  one(type::counter, "mxkv_connections_near",
      "Connections that went to the node which their packets arrive on", net.near_connections);
  one(type::counter, "mxkv_connection_yields", "Times that a connection's share of a turn was used up",
      net.yields);
  one(type::counter, "mxkv_connection_rate_pauses",
      "Times that a connection was not read, since its user or address had its share of a second",
      net.rate_pauses);
  one(type::gauge, "mxkv_connections_held", "Connections whose replies wait for the disk", net.held);
  one(type::counter, "mxkv_connection_journal_pauses",
      "Times that a connection was not read, since the journal was full", net.journal_pauses);
  one(type::counter, "mxkv_descriptor_shortages", "Times that there was no descriptor left", net.shortages);
  out.family(type::counter, "mxkv_descriptor_shortage_seconds", "How long there was no descriptor left");
  out.add_real(static_cast<double>(net.shortage_us) / 1e6);
  one(type::counter, "mxkv_network_receive_bytes", "Bytes that clients sent", net.read_bytes);
  one(type::counter, "mxkv_network_transmit_bytes", "Bytes that were sent to clients", net.written_bytes);
  one(type::gauge, "mxkv_tls_connections", "Connections of clients that speak TLS", net.tls_connections);
  one(type::counter, "mxkv_tls_handshakes", "TLS handshakes that ended well", net.handshakes);
  one(type::counter, "mxkv_tls_handshake_errors", "TLS handshakes that failed", net.handshake_errors);
  one(type::counter, "mxkv_tls_connections_by_kernel", "Connections that the kernel encrypts for",
      net.tls_by_kernel);
  one(type::counter, "mxkv_logins", "Logins that were tried, by HTTP, too", counters.auth_commands);
  one(type::counter, "mxkv_login_failures", "Of logins, those that failed", counters.auth_errors);
  one(type::counter, "mxkv_forbidden_requests", "Requests that their user may not make",
      counters.auth_forbidden);
  one(type::gauge, "mxkv_watchers", "Connections that watch", parts.store.watch_hub().watchers());
  one(type::counter, "mxkv_watch_lines", "Lines that were sent to connections that watch",
      parts.store.watch_hub().sent());
  one(type::counter, "mxkv_watch_lines_lost", "Lines that a connection that watches was too slow for",
      parts.store.watch_hub().lost());
}

}  // namespace mxkv::server
