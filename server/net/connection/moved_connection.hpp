// The state of a connection that moves to another worker: its socket, and the bytes read but not used.
//
// A connection moves at rest: it has no request in flight, no reply that waits for order, for the disk or to
// be sent, and no value, batch or stream has begun. So it has no other state.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "server/net/tls/tls_stream.hpp"
#include "server/net/users/users.hpp"

namespace mxkv::server {

struct Door;

struct MovedConnection {
  const Door* door = nullptr;      ///< the door that it was accepted at
  int socket = -1;                 ///< in no epoll set
  std::unique_ptr<TlsStream> tls;  ///< null: no TLS
  std::shared_ptr<const TlsFacts> tls_facts;
  std::size_t tls_held = 0;
  std::size_t tls_own = 0;
  std::string held;
  UserSeat seat;                   ///< of its user
  bool read_on = false;            ///< see Readiness
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
