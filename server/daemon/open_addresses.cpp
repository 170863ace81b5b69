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

}  // namespace

std::string warning_of_open(const config::ListenAddress& listen, const config::ServerOptions& options) {
  const bool logs_in = listen.auth != config::listener_auth::none && !options.auth_file.empty();
  const bool shows_certificate = listen.tls && !listen.tls->client_ca.empty();
  if (!listen.path.empty() || logs_in || shows_certificate || is_of_this_machine(listen.address)) {
    return {};
  }
  return config::format_listen(listen) +
         " is open: whoever reaches it may read and change everything, flush it, change the " +
         "memory limit and watch others" + (options.shutdown_command ? ", and end the server" : "") +
         (options.auth_file.empty() ? " (server.auth_file names users who have to log in)"
                                    : " (its auth is none)");
}

std::string warning_of_open_node(const config::ClusterOptions& options) {
  if (options.tls.given() || is_of_this_machine(options.peer->address)) {
    return {};
  }
  return config::format_listen(*options.peer) +
         " is open for more than the cluster's nodes: whoever reaches it may read and change everything, and "
         "what they say to each other goes as it is (cluster.tls)";
}

}  // namespace mxkv::server
