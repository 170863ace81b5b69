// All connections as people ask for them: who each is, since when, and what it did; and how many each address has.
//
// An entry goes with its socket, from accept to close, whichever workers serve it: so it is found by descriptor. What
// changes with requests is written by the connection's worker, and read by who asks.
//
// Nothing walks the whole table at once: it is walked by pages, in the order of the numbers, and its lock is free between
// two pages. A connection that is there all the while is met once.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "config/options.hpp"
#include "server/net/connection_facts.hpp"
#include "server/net/last_command.hpp"
#include "server/net/session_state.hpp"
#include "server/net/string_map.hpp"
#include "server/net/usage.hpp"

namespace mxkv::server {

/// One connection. Thread-safety: `usage` and the counters any thread (relaxed: statistics); the rest by ClientTable.
struct Client {
  std::uint64_t id = 0;  ///< never another's
  int socket = -1;
  std::string peer;  ///< as ConnectionFacts
  std::string own;
  std::uint64_t opened_ns = 0;
  std::shared_ptr<Usage> usage;           ///< of its address; null: of none
  std::string name;                       ///< that it gave itself
  std::string user;                       ///< the name of the login; empty: none
  std::shared_ptr<const TlsFacts> tls{};  ///< null: no TLS, or its handshake goes on
  std::atomic<std::uint32_t> requests{0};
  std::atomic<std::uint64_t> read_bytes{0};
  std::atomic<std::uint64_t> written_bytes{0};
  std::atomic<std::uint64_t> read_ns{0};
  std::atomic<std::uint16_t> worker{0};
  std::atomic<bool> killed{
      false};  ///< release by kill(), acquire by its worker at the next event of its socket
  std::atomic<bool> sends{false};  ///< it waits for the client to take replies
  LastCommand last{};
  std::atomic<session_state> state{session_state::opening};  ///< at the end of its last turn
};

/// What `stats conns` says of it to the client of the socket `asker`. Only within ClientTable::walk().
[[nodiscard]] ConnectionFacts facts_of(const Client& client, std::uint64_t now_ns, int asker);

/// Thread-safety: any thread.
class ClientTable {
 public:
  static constexpr std::size_t kMostNameBytes = 64;

  /// A socket was accepted. Null: its address has as many connections as it may. It ends with close().
  [[nodiscard]] Client* open(int socket, std::uint64_t now_ns, const config::LimitOptions& limits);
  /// The one of a socket, opened if need be.
  [[nodiscard]] Client& of(int socket, std::uint64_t now_ns, const config::LimitOptions& limits);
  /// Before the socket is closed.
  void close(int socket) noexcept;
  /// Other limits hold, for connections that are there, too.
  void set_limits(const config::LimitOptions& limits);

  void set_user(Client& client, std::string_view user);
  void set_tls(Client& client, std::shared_ptr<const TlsFacts> facts);
  /// False: too long, or it holds what cannot be read.
  [[nodiscard]] bool set_name(Client& client, std::string_view name);
  /// How many a page has at most.
  static constexpr std::size_t kPage = 64;
  /// Calls f(client) for those of a page, behind the one of the number `after`. Returns where the next page begins; 0:
  /// this was the last.
  std::uint64_t walk(std::uint64_t after, const std::function<void(const Client&)>& f) const;
  /// The same of those that were not killed before. Marks those that `f` says as killed and shuts their sockets down:
  /// their workers close them at once.
  std::uint64_t kill(std::uint64_t after, const std::function<bool(const Client&)>& f);
  /// Ends the connection of this number alike; false: there is none, or it was killed before.
  bool kill_one(std::uint64_t id);

 private:
  static void end(Client& client) noexcept;
  static constexpr std::size_t kLeastSweep = 8192;

  void sweep(std::uint64_t now_ns);
  [[nodiscard]] Client* add(int socket, std::uint64_t now_ns, const config::LimitOptions& limits, bool any);

  mutable std::mutex mutex_;  ///< guards what follows
  std::unordered_map<int, std::unique_ptr<Client>> by_socket_;
  std::map<std::uint64_t, Client*> by_id_;
  StringMap<std::shared_ptr<Usage>> by_address_;
  std::size_t sweep_at_ = kLeastSweep;  ///< so many addresses
  std::uint64_t last_id_ = 0;
};

}  // namespace mxkv::server
