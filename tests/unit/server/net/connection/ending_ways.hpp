// The ways in which clients end in tests; after each of them the slot must be free.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/unit/server/net/connection/disk_fixture.hpp"
#include "tests/unit/server/net/connection/ending_client.hpp"
#include "tests/unit/server/net/worker/two_workers.hpp"

namespace mxkv::server::test {

/// Ways that the session notices by reading.
inline std::vector<Way> said_ways() {
  return {{"quit", "quit\r\n"},
          {"HTTP", "GET / HTTP/1.1\r\nHost: a\r\n\r\n"},
          {"TLS bytes", "\x16\x03\x01\x02\x05" + std::string(10'000, 'h')},
          {"endless line", std::string(10'000, 'x')},
          {"binary QuitQ", std::string{"\x80\x17", 2} + std::string(22, '\0')},
          {"binary quit", std::string{"\x80\x07", 2} + std::string(22, '\0')},
          {"quit, and more", "quit\r\nget k\r\n"}};
}

/// Ways that the socket reports.
inline std::vector<Way> cut_ways() {
  return {kHalfClose,
          kClose,
          kReset,
          kKilled,
          {"half a line, half close", "get k", Way::act::half_close},
          {"half a line, close", "get k", Way::act::close}};
}

inline std::vector<Way> all_ways() {
  std::vector<Way> all = said_ways();
  for (const Way& way : cut_ways()) {
    all.push_back(way);
  }
  return all;
}

/// The ways of a client that has sent a request of the text protocol.
inline std::vector<Way> text_ways() {
  std::vector<Way> all = all_ways();
  std::erase_if(all, [](const Way& way) { return way.bytes.starts_with('\x80'); });
  return all;
}

inline Ground ground_of(TwoWorkers& server) {
  return {server.nets[0], server.shared, [&server] { server.run(); }};
}
inline Ground ground_of(DiskServer& server) {
  return {server.net, server.shared, [&server] { server.run(); }};
}

/// The client ends after `before`. Then the slot is free; `lift` ends the pause first if the end must be read.
inline void expect_free(
    EndingClient& client, const Ground& ground, const Way& way, const std::string& before,
    const std::function<void()>& lift = [] {}) {
  SCOPED_TRACE(way.name);
  if (way.bytes.starts_with('\x80') && client.begins_as_text(before)) {
    return;  // the first byte of a connection decides its protocol
  }
  client.end(way, before);
  if (!way.is_hard()) {
    ground.run();
    lift();
  }
  EXPECT_TRUE(wait_until(ground, [&] { return client.closed() && client.left_over().empty(); }))
      << "left:" << client.left_over();
}

}  // namespace mxkv::server::test
