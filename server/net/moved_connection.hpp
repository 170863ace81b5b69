// What goes with a connection from one worker to another: its socket, and what was read and not used.
//
// A connection moves at rest: nothing of it is in flight, waits for its order, for the disk or to be sent, and
// no value, batch or stream has begun. So this is all there is.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "server/net/tls_stream.hpp"
#include "server/net/users.hpp"

namespace mxkv::server {

class NetWorker;
struct Door;

struct MovedConnection {
  NetWorker* from = nullptr;
  const Door* door = nullptr;      ///< that it came by
  int socket = -1;                 ///< in no epoll set
  std::unique_ptr<TlsStream> tls;  ///< null: it has none
  std::shared_ptr<const TlsFacts> tls_facts;
  std::size_t tls_held = 0;
  std::size_t tls_own = 0;
  std::string held;
  UserSeat seat;                   ///< whose it is
  bool read_on = false;            ///< see Readiness
  bool binary = false;             ///< it speaks the binary protocol
  std::uint64_t read_ns = 0;       ///< when bytes last came
  std::uint32_t keepalive_ms = 0;  ///< that its socket was told
  std::uint64_t settled_ns = 0;    ///< until when it stays where it goes
};

/// How far a connection had come at some moment.
struct WorkNote {
  std::uint32_t ended = 0;  ///< operations; wraps around
  std::uint64_t bytes = 0;  ///< read and sent
};

}  // namespace mxkv::server
