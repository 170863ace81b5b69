#include "server/daemon/admin_listeners.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include "config/parse.hpp"
#include "server/daemon/start_files.hpp"

namespace mxkv::server {

namespace {

using config::ListenAddress;
using Contexts = std::vector<std::shared_ptr<const TlsContext>>;

bool is_same_place(const ListenAddress& a, const ListenAddress& b) {
  return a.path.empty() ? b.path.empty() && a.address == b.address && a.port == b.port
                        : a.path == b.path && a.mode == b.mode;
}

runtime::Result<ListenSocket> open_one(const ListenAddress& address,
                                       const std::shared_ptr<const TlsContext>& tls) {
  runtime::Result<ListenSocket> socket = ListenSocket::open(address);
  if (socket) {
    socket.value().set_tls(tls);
  }
  return socket;
}

void tell_of(const ListenSocket& socket, Log& log) {
  const ListenAddress& address = socket.address();
  log.info("administration by HTTP at " + config::format_listen(address) +
           text_of_tls(address, socket.tls().get()) +
           (address.auth == config::listener_auth::required ? ", for users of server.auth_file" : ""));
}

}  // namespace

std::string text_of_tls(const ListenAddress& address, const TlsContext* tls) {
  return tls == nullptr ? ""
                        : ", TLS with the " + tls->summary() +
                              (address.tls->client_ca.empty() ? "" : ", for clients with one of their own");
}

runtime::Result<std::vector<ListenSocket>> open_admin_sockets(const std::vector<ListenAddress>& addresses,
                                                              const Contexts& tls, Log& log) {
  std::vector<ListenSocket> sockets;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    runtime::Result<ListenSocket> socket = open_one(addresses[i], tls[i]);
    if (!socket) {
      return runtime::Error{"admin: " + socket.error().message};
    }
    tell_of(socket.value(), log);
    sockets.push_back(std::move(socket).value());
  }
  return sockets;
}

std::vector<HttpListener> prepare_admin(const std::vector<ListenAddress>& running,
                                        const config::DaemonOptions& wanted, Log& log,
                                        config::Findings& findings) {
  const std::vector<ListenAddress>& addresses = wanted.admin.listeners;
  config::Findings doubts;
  const Contexts tls = read_certificates(wanted, addresses, "admin.listeners", findings, doubts);
  std::vector<bool> kept(running.size());
  std::vector<HttpListener> listeners;
  for (std::size_t i = 0; i < addresses.size() && findings.empty(); ++i) {
    HttpListener& one = listeners.emplace_back();
    while (one.kept < running.size() && (kept[one.kept] || !is_same_place(running[one.kept], addresses[i]))) {
      ++one.kept;
    }
    if (one.kept < running.size()) {
      kept[one.kept] = true;
      if (running[one.kept] != addresses[i]) {
        one.settings = addresses[i];
        one.tls = tls[i];
      }
      continue;
    }
    runtime::Result<ListenSocket> socket = open_one(addresses[i], tls[i]);
    if (socket) {
      one.socket.emplace(std::move(socket).value());
    } else {
      const std::string path = "admin.listeners[" + std::to_string(i) + "]";
      const config::Origin* const origin = config::find_origin(wanted.origins, path);
      findings.push_back({origin == nullptr ? config::Origin{} : *origin, path, socket.error().message});
    }
  }
  if (!findings.empty()) {
    listeners.clear();
    return listeners;
  }
  for (const config::Finding& doubt : doubts) {
    log.warning(to_string(doubt));
  }
  for (const HttpListener& one : listeners) {
    if (one.socket) {
      tell_of(*one.socket, log);
    }
  }
  return listeners;
}

}  // namespace mxkv::server
