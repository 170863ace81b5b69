// The seam between net/ and the code that knows the whole server: sessions send commands here that do not
// concern keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "protocol/reply_codes.hpp"
#include "protocol/request.hpp"
#include "server/reply/reply_address.hpp"

namespace mxkv::server {

struct User;

/// Where a reply continues that is made page by page. A command that walks connections makes one page at a
/// time, so that its worker serves other connections between two pages.
struct AdminCursor {
  static constexpr std::size_t kPage = 64;  ///< most connections that a page walks
  std::uint64_t after = 0;                  ///< the page begins behind the connection with this number
  std::size_t found = 0;                    ///< connections that the pages have met so far
  bool more = false;                        ///< another page follows
  int asker = -1;                           ///< the socket of the client that asked
  const User* user = nullptr;  ///< who asked, during run(); null: a client that may do everything
  /// How the binary protocol answers a page that has no lines of statistics.
  protocol::reply_code code = protocol::reply_code::done;
};

/// Thread-safety: any thread.
class AdminSource {
 public:
  AdminSource() = default;
  AdminSource(const AdminSource&) = delete;
  AdminSource& operator=(const AdminSource&) = delete;

  /// Executes one page of stats, client, verbosity, cache_memlimit, shutdown or debugtime, and returns the
  /// page. The reply is the pages of all calls until `cursor.more` is false. If the reply is empty, the
  /// session closes the connection without one.
  [[nodiscard]] virtual std::string run(const protocol::Request& request, AdminCursor& cursor) = 0;
  /// Executes config get, config set and refresh_certs for `client`. The reply comes later, in a task on the
  /// worker of `address`. False: run() answers the request.
  [[nodiscard]] virtual bool configure(const protocol::Request& /*request*/, const std::string& /*client*/,
                                       const ReplyAddress& /*address*/) {
    return false;
  }

 protected:
  ~AdminSource() = default;
};

}  // namespace mxkv::server
