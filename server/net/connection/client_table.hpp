// All connections as administrators see them: the client, the time of its connect, and its work so far. Also
// counts the connections of each address.
//
// An entry lives as long as its socket, from accept to close, on whichever worker. So entries are found by
// descriptor. The connection's worker writes the fields that change with requests, and any thread may read
// them.
//
// Nothing walks the whole table at once. A walk goes page by page, in the order of the numbers, and the lock
// is free between two pages. A walk meets each connection exactly once if that is open throughout.
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
#include "server/net/observe/connection_facts.hpp"
#include "server/net/observe/last_command.hpp"
#include "server/net/session/admin_source.hpp"
#include "server/net/session/session_state.hpp"
#include "server/net/users/string_map.hpp"
#include "server/net/users/usage.hpp"

namespace mxkv::server {

/// One connection. Thread-safety: `usage` and the counters any thread (relaxed: statistics); the rest by ClientTable.
struct Client {
  std::uint64_t id = 0;  ///< never used again
  int socket = -1;
  std::string peer;  ///< as in ConnectionFacts
  std::string own;
  std::uint64_t opened_ns = 0;
  std::shared_ptr<Usage> usage;           ///< usage of its address; null: it has no address
  std::string name;                       ///< as set by the client
  std::string user;                       ///< the user that logged in; empty: no login
  std::shared_ptr<const TlsFacts> tls{};  ///< null: no TLS, or the handshake is not finished
  std::atomic<std::uint32_t> requests{0};
  std::atomic<std::uint64_t> read_bytes{0};
  std::atomic<std::uint64_t> written_bytes{0};
  std::atomic<std::uint64_t> read_ns{0};
  std::atomic<std::uint16_t> worker{0};
  std::atomic<bool> killed{
      false};  ///< kill() stores with release; its worker loads with acquire at the socket's next event
  std::atomic<bool> sends{false};  ///< it waits until the client takes replies
  LastCommand last{};
  std::atomic<session_state> state{session_state::opening};  ///< as of the end of its last turn
};

/// The connection as `stats conns` shows it to the client of the socket `asker`. Only within
/// ClientTable::walk().
[[nodiscard]] ConnectionFacts facts_of(const Client& client, std::uint64_t now_ns, int asker);

/// Thread-safety: any thread.
class ClientTable {
 public:
  static constexpr std::size_t kMostNameBytes = 64;

  /// Adds an accepted socket, until close(). Null: its address has as many connections as allowed.
  [[nodiscard]] Client* open(int socket, std::uint64_t now_ns, const config::LimitOptions& limits);
  /// The entry of a socket. Adds it if it is missing.
  [[nodiscard]] Client& of(int socket, std::uint64_t now_ns, const config::LimitOptions& limits);
  /// Called before the socket is closed.
  void close(int socket) noexcept;
  /// Sets new limits, also for open connections.
  void set_limits(const config::LimitOptions& limits);

  void set_user(Client& client, std::string_view user);
  void set_tls(Client& client, std::shared_ptr<const TlsFacts> facts);
  /// Sets the client's name. Returns false if the name is too long or not printable.
  [[nodiscard]] bool set_name(Client& client, std::string_view name);
  /// Most connections of a page.
  static constexpr std::size_t kPage = AdminCursor::kPage;
  /// Calls f(client) for one page of connections, behind the one with number `after`. Returns the number to
  /// continue with; 0: this was the last page.
  std::uint64_t walk(std::uint64_t after, const std::function<void(const Client&)>& f) const;
  /// Walks the connections that were not killed before. If f(client) returns true, marks the connection as
  /// killed and shuts its socket down, so that its worker closes it at once.
  std::uint64_t kill(std::uint64_t after, const std::function<bool(const Client&)>& f);
  /// Ends the connection with this number in the same way. False: it does not exist, or was killed before.
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
  std::size_t sweep_at_ = kLeastSweep;  ///< sweep when so many addresses are known
  std::uint64_t last_id_ = 0;
};

}  // namespace mxkv::server
