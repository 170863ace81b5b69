// Supervisor's functions for options that change at run time: config get and config set.
#include <algorithm>
#include <utility>

#include "config/load.hpp"
#include "config/parse.hpp"
#include "protocol/reply.hpp"
#include "server/daemon/config_text.hpp"
#include "server/daemon/reload.hpp"
#include "server/daemon/supervisor.hpp"

namespace mxkv::server {

namespace {

/// The origin of an option, if it is known, with ": ".
std::string place_of(const config::Origins& origins, const std::string& path) {
  const config::Origin* const origin = config::find_origin(origins, path);
  return origin == nullptr ? "" : to_string(*origin) + ": ";
}

/// Whether only limits of prefixes differ.
bool same_prefixes(const config::DaemonOptions& running, const config::DaemonOptions& wanted) {
  const auto names = [](const config::DaemonOptions& options) {
    std::vector<std::string> all;
    for (const config::PrefixOptions& each : options.prefixes) {
      all.push_back(each.prefix);
    }
    std::ranges::sort(all);
    return all;
  };
  return names(running) == names(wanted);
}

}  // namespace

std::vector<std::string> Supervisor::refusals(const config::DaemonOptions& wanted,
                                              const config::Resolved& resolved) const {
  std::vector<std::string> why;
  for (const Change& change : changes(running_, wanted)) {
    if (!changes_while_running(change.path) ||
        (change.path == "prefixes" && !same_prefixes(running_, wanted))) {
      why.push_back(place_of(wanted.origins, change.path) + change.path +
                    (change.path == "prefixes" ? ": limits may change, but the set of prefixes cannot"
                                               : ": cannot change") +
                    " while the daemon runs, from " + change.before + " to " + change.after);
    }
  }
  if (const std::size_t most = parts_.administration.greatest_limit();
      resolved.runtime.memory.limit_bytes > most) {
    why.push_back(place_of(wanted.origins, "memory.limit") +
                  "memory.limit: while the daemon runs it can grow to " + config::format_size(most) +
                  ": twice the limit at the start");
  }
  if (wanted.log.file != running_.log.file) {
    if (const std::string lack = Log::lack_of(wanted.log); !lack.empty()) {
      why.push_back(place_of(wanted.origins, "log.file") + "log.file: " + lack);
    }
  }
  return why;
}

std::optional<std::vector<HttpListener>> Supervisor::admin_wanted(const config::DaemonOptions& wanted,
                                                                  std::vector<std::string>& why) {
  if (!why.empty() || wanted.admin.listeners == running_.admin.listeners) {
    return std::nullopt;
  }
  config::Findings findings;
  std::vector<HttpListener> listeners = prepare_admin(running_.admin.listeners, wanted, log_, findings);
  for (const config::Finding& finding : findings) {
    why.push_back(to_string(finding));
  }
  return findings.empty() ? std::optional{std::move(listeners)} : std::nullopt;
}

void Supervisor::answer_config() {
  for (const ConfigRequest& request : parts_.config_inbox.take()) {
    answer(parts_.runtime, request.address,
           request.asks == protocol::verb::config_set      ? set_option(request)
           : request.asks == protocol::verb::refresh_certs ? refresh_certificates(request)
                                                           : config_lines(in_force(), request.path));
  }
}

// Does what a reload does for certificates.
std::string Supervisor::refresh_certificates(const ConfigRequest& request) {
  const CertificatesRead read = reread_certificates("refresh_certs from " + request.client);
  if (!read.flaw.empty()) {
    return "CLIENT_ERROR " + read.flaw + "\r\n";
  }
  return read.listeners == 0 ? "CLIENT_ERROR no listener speaks TLS\r\n" : std::string{protocol::kOk};
}

config::DaemonOptions Supervisor::in_force() {
  config::DaemonOptions options = config::effective(running_, resolved_);
  const std::size_t limit = parts_.runtime.budget().limit_bytes();
  if (limit != resolved_.runtime.memory.limit_bytes) {
    options.memory.limit_bytes = limit;
    options.memory_limit_percent = 0;
    options.origins["memory.limit"] = {.source = "cache_memlimit"};
  }
  return options;
}

std::string Supervisor::set_option(const ConfigRequest& request) {
  config::Loaded wanted = config::with_option(running_, request.path, request.value, kConfigSet);
  const config::Resolved resolved =
      config::resolve(wanted.options, machine_.topology, machine_.facts, wanted.findings);
  if (!wanted.findings.empty()) {
    return "CLIENT_ERROR " + to_string(wanted.findings.front()) + "\r\n";
  }
  std::vector<std::string> why = refusals(wanted.options, resolved);
  std::optional<std::vector<HttpListener>> admin = admin_wanted(wanted.options, why);
  if (!why.empty()) {
    return "CLIENT_ERROR " + why.front() + "\r\n";
  }
  if (request.path == "log" || request.path.starts_with("log.")) {
    reopen_log(wanted.options.log);
  }
  apply(wanted.options, resolved, std::string{kConfigSet} + " from " + request.client, std::move(admin));
  return std::string{protocol::kOk};
}

}  // namespace mxkv::server
