// The state of a connection that moves to another worker: its socket, and the bytes read but not used.
//
// A connection moves at rest: it has no request in flight, no reply that waits for order, for the disk or to
// be sent, and no value, batch or stream has begun. So it has no other state.
#pragma once

#include <cstdint>
#include <string>

#include "server/net/connection/client_socket.hpp"
#include "server/net/users/users.hpp"

namespace mxkv::server {

struct Door;

struct MovedConnection {
  const Door* door = nullptr;  ///< the door that it was accepted at
  MovedSocket socket;
  std::string held;                ///< bytes read but not used
  UserSeat seat;                   ///< of its user
  bool binary = false;             ///< it speaks the binary protocol
  std::uint64_t read_ns = 0;       ///< when bytes last came
  std::uint32_t keepalive_ms = 0;  ///< as set on its socket
  std::uint64_t settled_ns = 0;    ///< the taker keeps it until then
};

/// The progress of a connection at some moment.
struct WorkNote {
  std::uint32_t ended = 0;  ///< operations; wraps around
  std::uint64_t bytes = 0;  ///< read and sent
};

}  // namespace mxkv::server
