// What a listener asks of those who come by it, and who serves them: what all its connections have in common.
// One for each listening socket.
#pragma once

#include <cstdint>
#include <optional>

namespace mxkv::server {

class TlsDoor;

/// It outlives its connections. Thread-safety: any thread, once clients come by it.
struct Door {
  bool asks_login = true;               ///< where users are configured
  std::optional<std::uint32_t> node{};  ///< NUMA node, by the system's number, whose workers serve; none: all
  bool peer = false;         ///< for other nodes of the cluster: no login, no rates, and nothing is sent on
  bool takes_stale = false;  ///< a replica's answer will do
  const TlsDoor* tls = nullptr;  ///< null: what is sent goes as it is
};

/// For sockets that came by no listener.
inline constexpr Door kUsualDoor{};

}  // namespace mxkv::server
