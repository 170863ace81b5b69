// A connection as `stats conns` shows it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace mxkv::server {

struct TlsFacts;

/// A connection, or a listening socket. The latter has no peer.
struct ConnectionFacts {
  enum class doing : std::uint8_t {
    listens,
    reads,
    takes_value,
    swallows,  ///< drops a value that was refused
    watches,
    asks,   ///< it asked for this list
    sends,  ///< it waits until the client takes replies
  };
  int descriptor = -1;
  std::string peer;  ///< "tcp:127.0.0.1:40000", "tcp6:[::1]:40000" or "unix:path"; one word
  std::string own;   ///< the address that it was accepted at, in the same form
  doing state = doing::listens;
  std::uint64_t idle_seconds = 0;  ///< since the client last sent anything
  std::uint16_t worker = 0;
  std::shared_ptr<const TlsFacts> tls{};  ///< null: no TLS
};

/// A socket's path as part of one word. Clients may bind their own end to any path, so all bytes but letters,
/// digits, / and four other signs are escaped as in URIs.
[[nodiscard]] std::string socket_path_text(std::string_view path);

/// The client that a peer's name stands for, however often it connects: an IPv4 address, or the network of an
/// IPv6 address (its first 64 bits, which as a rule belong to one client). Empty: the peer is on this
/// machine, or unknown.
[[nodiscard]] std::string client_of(const std::string& peer);

/// Whether `which` names this peer: by the peer's whole name, by its client_of(), or by an IPv4 or IPv6
/// address in any spelling, with or without a port.
[[nodiscard]] bool is_peer(const std::string& peer, std::string_view which);

/// `text` in quotes, shortened, with unprintable bytes as \xNN.
[[nodiscard]] std::string in_quotes(std::string_view text);

/// The socket's descriptor and addresses; the caller fills in the rest. `socket` is open. Any thread.
[[nodiscard]] ConnectionFacts facts_of_socket(int socket);

}  // namespace mxkv::server
