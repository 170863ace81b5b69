#include "server/daemon/open_addresses.hpp"

#include <arpa/inet.h>

#include <cstring>

#include "config/parse.hpp"

namespace mxkv::server {

namespace {

bool is_of_this_machine(const std::string& address) {
  in6_addr six{};
  if (inet_pton(AF_INET6, address.c_str(), &six) != 1) {
    return address.starts_with("127.");
  }
  constexpr std::uint8_t kLoopbackNet = 127;
  return IN6_IS_ADDR_LOOPBACK(&six) != 0 ||
         (IN6_IS_ADDR_V4MAPPED(&six) != 0 && six.s6_addr[12] == kLoopbackNet);
}

std::string may_do(config::listener_role role, bool shutdown_command) {
  switch (role) {
    case config::listener_role::reader:
      return "read all items";
    case config::listener_role::writer:
      return "read and change all items";
    case config::listener_role::administrator:
      break;
  }
  return std::string{"read, change and flush all items, change the memory limit and watch other clients"} +
         (shutdown_command ? ", and end the server" : "");
}

}  // namespace

std::string warning_of_open(const config::ListenAddress& listen, const config::ServerOptions& options) {
  const bool logs_in = listen.auth != config::listener_auth::none && !options.auth_file.empty();
  const bool shows_certificate = listen.tls && !listen.tls->client_ca.empty();
  if (!listen.path.empty() || logs_in || shows_certificate || is_of_this_machine(listen.address)) {
    return {};
  }
  return config::format_listen(listen) + " is open: every client that reaches it may " +
         may_do(listen.role, options.shutdown_command) +
         (options.auth_file.empty() ? " (to require a login, set server.auth_file)" : " (its auth is none)");
}

std::string warning_of_open_node(const config::ClusterOptions& options) {
  if (options.tls.given() || is_of_this_machine(options.peer->address)) {
    return {};
  }
  return config::format_listen(*options.peer) +
         " is open to more than the cluster's nodes: every host that reaches it may read and change all "
         "items, and the nodes' messages are not encrypted (cluster.tls prevents both)";
}

}  // namespace mxkv::server
