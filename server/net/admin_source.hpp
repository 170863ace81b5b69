// Where sessions send what does not concern keys: the seam between net/ and those that know the whole server.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "protocol/request.hpp"
#include "server/reply/reply_address.hpp"

namespace mxkv::server {

/// Where a reply that is made page by page goes on. A command that walks connections makes one, so that its worker serves
/// others between two pages.
struct AdminCursor {
  std::uint64_t after = 0;  ///< the page begins behind the connection of this number
  std::size_t found = 0;    ///< connections that were met by the pages so far
  bool more = false;        ///< another page follows
  int asker = -1;           ///< the socket of the client that asks
};

/// Thread-safety: any thread.
class AdminSource {
 public:
  AdminSource() = default;
  AdminSource(const AdminSource&) = delete;
  AdminSource& operator=(const AdminSource&) = delete;

  /// Carries out stats, client, verbosity, cache_memlimit, shutdown or debugtime, as far as a page goes. Returns the page;
  /// the reply is that of all calls until the cursor has no more. An empty reply: the connection is closed without one.
  [[nodiscard]] virtual std::string run(const protocol::Request& request, AdminCursor& cursor) = 0;
  /// Carries out config get, config set and refresh_certs, of that client. The reply comes later, by a task on the
  /// address's worker.
  /// False: run() answers.
  [[nodiscard]] virtual bool configure(const protocol::Request& /*request*/, const std::string& /*client*/,
                                       const ReplyAddress& /*address*/) {
    return false;
  }

 protected:
  ~AdminSource() = default;
};

}  // namespace mxkv::server
