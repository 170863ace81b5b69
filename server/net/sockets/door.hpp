// The rules that all connections of one listening socket have in common: what the listener requires of
// clients, and which workers serve them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

namespace mxkv::server {

class TlsDoor;
struct User;

/// It outlives its connections. Thread-safety: any thread, once clients come by it.
struct Door {
  bool asks_login = true;               ///< if users are configured
  std::optional<std::uint32_t> node{};  ///< NUMA node, by the system's number, whose workers serve; none: all
  bool peer = false;                    ///< for other nodes of the cluster: no login, rates or forwarding
  bool takes_stale = false;             ///< answers from a replica are good enough
  /// The rights of clients that do not log in; null: all.
  const std::shared_ptr<const User>* visitor = nullptr;
  const TlsDoor* tls = nullptr;  ///< null: the listener speaks no TLS
};

/// For sockets that no listener accepted.
inline constexpr Door kUsualDoor{};

}  // namespace mxkv::server
