// Where sessions send what does not concern keys: the seam between net/ and those that know the whole server.
#pragma once

#include <string>

#include "protocol/request.hpp"
#include "server/reply/reply_address.hpp"

namespace mxkv::server {

/// Thread-safety: any thread.
class AdminSource {
 public:
  AdminSource() = default;
  AdminSource(const AdminSource&) = delete;
  AdminSource& operator=(const AdminSource&) = delete;

  /// Carries out stats, verbosity, cache_memlimit, shutdown or debugtime. Returns the whole reply; empty: the
  /// connection is closed without one.
  [[nodiscard]] virtual std::string run(const protocol::Request& request) = 0;
  /// Carries out config get, config set and refresh_certs, of that client. The reply comes later, by a task on the address's worker.
  /// False: run() answers.
  [[nodiscard]] virtual bool configure(const protocol::Request& /*request*/, const std::string& /*client*/,
                                       const ReplyAddress& /*address*/) {
    return false;
  }

 protected:
  ~AdminSource() = default;
};

}  // namespace mxkv::server
