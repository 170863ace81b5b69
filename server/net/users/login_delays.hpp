// How long a client that gave wrong passwords waits before its next password is checked. Counted by
// connection and by address, since a client may connect again.
//
// The first few wrong passwords cost no wait. After that the wait doubles each time, up to a limit. A right
// password waits, too: if it were answered sooner, a client could tell a wrong one by the wait alone. The
// table is bounded. An address that has been quiet for a while is forgotten, and in a full table so is the
// one that has been quiet for longest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "server/net/users/string_map.hpp"

namespace mxkv::server {

/// The rules for wrong logins.
struct LoginRules {
  std::uint32_t free = 3;             ///< wrong logins of a connection that cost no wait
  std::uint32_t free_of_client = 20;  ///< the same of an address
  std::uint32_t most = 10;            ///< of a connection, which is then closed
  std::uint32_t first_ms = 100;       ///< the first wait
  std::uint32_t longest_ms = 5000;
  std::uint32_t forgotten_ms = 60'000;  ///< an address that was quiet for so long is forgotten
};

/// Thread-safety: as a plain value. Times are in ms, of any clock.
class LoginDelays {
 public:
  static constexpr std::size_t kMostClients = 4096;

  explicit LoginDelays(const LoginRules& rules) noexcept : rules_(rules) {}

  /// How long a login of `client` waits on a connection that had `failures`. An empty client has no failures
  /// of its own.
  [[nodiscard]] std::uint32_t delay_ms(std::string_view client, std::uint32_t failures,
                                       std::uint64_t now_ms) const;
  /// The address's wrong logins that are not forgotten yet.
  [[nodiscard]] std::uint32_t failures(std::string_view client, std::uint64_t now_ms) const;
  void failed(std::string_view client, std::uint64_t now_ms);
  [[nodiscard]] std::size_t clients() const noexcept { return clients_.size(); }

 private:
  struct Client {
    std::uint32_t failures = 0;
    std::uint64_t last_ms = 0;
  };
  [[nodiscard]] std::uint32_t doubled(std::uint32_t failures, std::uint32_t free) const noexcept;
  Client& entry(std::string_view client, std::uint64_t now_ms);

  LoginRules rules_;
  StringMap<Client> clients_;
};

}  // namespace mxkv::server
