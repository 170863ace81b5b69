// A server on one thread, without sockets: sessions over the real store, on workers that are stepped by hand
// with a clock that stands still. A client's bytes come in pieces, and its replies leave in pieces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "config/options.hpp"
#include "server/net/users/credentials.hpp"

namespace mxkv::fuzz {

/// What kind of server it is, and how clients send and read.
struct ServerPlan {
  std::size_t workers = 1;       ///< one or two; each has a client
  bool hot_leaves = false;       ///< leaves are small, and their writers run in pools now and then
  bool small_limits = false;     ///< of turns, pipelines and output
  bool short_of_memory = false;  ///< hardly any room for items
  bool evicts = false;           ///< makes room; time passes then
  std::uint32_t cuts = 1;  ///< how the stream is cut: 0 into single bytes, ~0 not at all, else by this seed
  bool reads_slowly = false;  ///< the client takes a few bytes a time
};

/// Whether replies do not depend on how the stream is cut.
[[nodiscard]] constexpr bool is_deterministic(const ServerPlan& plan) noexcept {
  return plan.workers == 1 && !plan.short_of_memory && !plan.evicts;
}

/// The limits that a plan sets.
[[nodiscard]] config::LimitOptions limits_of(const ServerPlan& plan);

/// The result of a stream.
struct Served {
  std::vector<std::string> replies;  ///< to each client
  std::string wrong;                 ///< a fault that must never happen; empty if none did
};

/// Knows user:pass, and delays no client, however often a login is wrong.
class FuzzedUsers final : public server::Credentials {
 public:
  FuzzedUsers() : Credentials({.free = kAny, .free_of_client = kAny, .most = kAny}) {
    config::Findings none;
    replace(config::parse_users("user:pass\n", "users", none).users);
  }

 private:
  static constexpr std::uint32_t kAny = ~std::uint32_t{0};
};

/// Sends `stream` from every client, until all is answered and the clients have left. `credentials`: null, or
/// the login that they must give first.
[[nodiscard]] Served serve(std::string_view stream, const ServerPlan& plan, server::Credentials* credentials);

}  // namespace mxkv::fuzz
