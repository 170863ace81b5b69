// How long who says a wrong password waits before the next one is looked at: by connection, and by address, since one
// may connect again.
//
// The first few are free. Then the time doubles, up to a limit. It passes before a password is looked at, also a right
// one: a right one that were answered sooner could be found by not waiting for the answer. The table is bounded; an
// address that was quiet for a while is forgotten, and where there are too many the one that was quiet for longest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "server/net/string_map.hpp"

namespace mxkv::server {

/// What wrong logins lead to.
struct LoginRules {
  std::uint32_t free = 3;             ///< wrong ones of a connection that make nobody wait
  std::uint32_t free_of_client = 20;  ///< of an address
  std::uint32_t most = 10;            ///< of a connection: then it is closed
  std::uint32_t first_ms = 100;       ///< the first time to wait
  std::uint32_t longest_ms = 5000;
  std::uint32_t forgotten_ms = 60'000;  ///< an address that was quiet for so long
};

/// Thread-safety: that of a plain value. Times are any clock's, in ms.
class LoginDelays {
 public:
  static constexpr std::size_t kMostClients = 4096;

  explicit LoginDelays(const LoginRules& rules) noexcept : rules_(rules) {}

  /// How long a login of `client` waits on a connection that had `failures`. An empty name is nobody's.
  [[nodiscard]] std::uint32_t delay_ms(std::string_view client, std::uint32_t failures,
                                       std::uint64_t now_ms) const;
  /// Wrong logins of the address that are not forgotten.
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
