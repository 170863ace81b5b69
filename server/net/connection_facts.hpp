// What `stats conns` says of a connection.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace mxkv::server {

struct TlsFacts;

/// A connection, or a listening socket, which has no peer.
struct ConnectionFacts {
  enum class doing : std::uint8_t {
    listens,
    reads,
    takes_value,
    swallows,  ///< a value that was refused
    watches,
    asks,   ///< for this list
    sends,  ///< it waits for the client to take replies
  };
  int descriptor = -1;
  std::string peer;  ///< "tcp:127.0.0.1:40000", "tcp6:[::1]:40000" or "unix:path"; one word
  std::string own;   ///< the address that it came to, alike
  doing state = doing::listens;
  std::uint64_t idle_seconds = 0;  ///< since it last sent anything
  std::uint16_t worker = 0;
  std::shared_ptr<const TlsFacts> tls{};  ///< null: none
};

/// A socket's path as a part of one word: clients bind their own end to any path, so all but letters, digits, / and
/// four signs is in a URI's escapes.
[[nodiscard]] std::string socket_path_text(std::string_view path);

/// Whom a peer's name is of, however often it connects: an IPv4 address, the network of an IPv6 address (its first 64
/// bits: one client has all of them as a rule). Empty: of this machine's own, or not known.
[[nodiscard]] std::string client_of(const std::string& peer);

/// Whether `which` names this peer: the peer's whole name, client_of() of it, or an address of version 4 or 6 in any
/// spelling, with a port or without one.
[[nodiscard]] bool is_peer(const std::string& peer, std::string_view which);

/// `text` in quotes, cut, and with what cannot be read as \xNN.
[[nodiscard]] std::string in_quotes(std::string_view text);

/// Its descriptor and addresses; the rest is the caller's to fill in. `socket` is open. Any thread.
[[nodiscard]] ConnectionFacts facts_of_socket(int socket);

}  // namespace mxkv::server
