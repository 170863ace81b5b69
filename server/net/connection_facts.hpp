// What `stats conns` says of a connection.
#pragma once

#include <cstdint>
#include <string>

namespace mxkv::server {

struct ConnectionFacts {
  int descriptor = -1;
  std::string peer;                ///< "tcp:127.0.0.1:40000", "tcp6:[::1]:40000" or "unix:path"
  std::string own;                 ///< the address that it came to, alike
  bool sends = false;              ///< it waits for the client to take replies
  std::uint64_t idle_seconds = 0;  ///< since it last sent anything
  std::uint16_t worker = 0;
};

/// Its descriptor and addresses; the rest is the caller's to fill in. `socket` is open. Any thread.
[[nodiscard]] ConnectionFacts facts_of_socket(int socket);

}  // namespace mxkv::server
