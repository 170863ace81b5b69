// What `stats conns` says of a connection.
#pragma once

#include <cstdint>
#include <string>

namespace mxkv::server {

/// A connection, or a listening socket, which has no peer.
struct ConnectionFacts {
  enum class doing : std::uint8_t { listens, reads, sends };
  int descriptor = -1;
  std::string peer;                ///< "tcp:127.0.0.1:40000", "tcp6:[::1]:40000" or "unix:path"
  std::string own;                 ///< the address that it came to, alike
  doing state = doing::listens;    ///< sends: it waits for the client to take replies
  std::uint64_t idle_seconds = 0;  ///< since it last sent anything
  std::uint16_t worker = 0;
};

/// Its descriptor and addresses; the rest is the caller's to fill in. `socket` is open. Any thread.
[[nodiscard]] ConnectionFacts facts_of_socket(int socket);

}  // namespace mxkv::server
