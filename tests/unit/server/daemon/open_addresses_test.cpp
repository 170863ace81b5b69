// The start warns of open listeners, and of no others.
#include "server/daemon/open_addresses.hpp"

#include <gtest/gtest.h>

namespace mxkv::server {
namespace {

using config::listener_auth;

std::string warning(const config::ListenAddress& listen, bool users, bool shutdown = false) {
  config::ServerOptions options;
  options.auth_file = users ? "users" : "";
  options.shutdown_command = shutdown;
  return warning_of_open(listen, options);
}

TEST(OpenAddresses, AreThoseBeyondThisMachineWhereNobodyLogsIn) {
  for (const char* const address : {"0.0.0.0", "10.0.0.1", "::", "2001:db8::1", "::ffff:10.0.0.1"}) {
    EXPECT_NE(warning({.address = address}, false), "") << address;
    EXPECT_NE(warning({.address = address, .auth = listener_auth::none}, true), "") << address;
    EXPECT_EQ(warning({.address = address}, true), "") << address;
    EXPECT_EQ(warning({.address = address, .auth = listener_auth::required}, true), "") << address;
  }
  for (const char* const address : {"127.0.0.1", "127.1.2.3", "::1", "::ffff:127.0.0.1"}) {
    EXPECT_EQ(warning({.address = address}, false), "") << address;
  }
  EXPECT_EQ(warning({.path = "/run/mxkv.sock"}, false), "");
}

TEST(OpenAddresses, AreNotThoseWhereClientsShowACertificate) {
  config::ListenAddress listen{.address = "0.0.0.0",
                               .tls = config::TlsOptions{.certificate = "c", .key = "k"}};
  EXPECT_NE(warning(listen, false), "") << "whoever speaks TLS comes in";
  listen.tls->client_ca = "ca";
  EXPECT_EQ(warning(listen, false), "");
}

TEST(OpenAddresses, AreThoseWhereAClustersNodesComeWithoutACertificate) {
  config::ClusterOptions options;
  options.peer = config::ListenAddress{.address = "10.0.0.5", .port = 11311};
  EXPECT_EQ(
      warning_of_open_node(options),
      "10.0.0.5:11311 is open to more than the cluster's nodes: every host that reaches it may read and "
      "change all items, and the nodes' messages are not encrypted (cluster.tls prevents both)");
  options.tls.certificate = "c";
  EXPECT_EQ(warning_of_open_node(options), "");
  options.tls = {};
  options.peer->address = "127.0.0.1";
  EXPECT_EQ(warning_of_open_node(options), "");
}

TEST(OpenAddresses, AreNamedWithTheRightsThere) {
  EXPECT_EQ(
      warning({.address = "0.0.0.0", .port = 7}, false),
      "0.0.0.0:7 is open: every client that reaches it may read, change and flush all items, change the "
      "memory limit and watch other clients (to require a login, set server.auth_file)");
  EXPECT_EQ(warning({.address = "::", .port = 7, .auth = listener_auth::none}, true, true),
            "[::]:7 is open: every client that reaches it may read, change and flush all items, change the "
            "memory limit and watch other clients, and end the server (its auth is none)");
  EXPECT_EQ(
      warning(
          {.address = "::", .port = 7, .auth = listener_auth::none, .role = config::listener_role::reader},
          true, true),
      "[::]:7 is open: every client that reaches it may read all items (its auth is none)");
}

}  // namespace
}  // namespace mxkv::server
