// The login of a session's client, and the user that it leads to.
//
// In the text protocol a client logs in by a set whose value is its name and password. In the binary protocol
// it does so by SASL, which has many mechanisms; like memcached's own users, this server has PLAIN only.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "protocol/parser.hpp"
#include "protocol/reply_codes.hpp"
#include "server/net/session/request_meter.hpp"
#include "server/net/session/session_core.hpp"
#include "server/net/session/value_intake.hpp"
#include "server/net/users/credentials.hpp"

namespace mxkv::server {

/// Functions that take input return how many bytes they used. Thread-safety: owner worker only.
class LoginDialog {
 public:
  /// Takes a line of a client that has not logged in. core.host->request has it, unless it was wrong.
  std::size_t take_line(SessionCore& core, ValueIntake& values, const protocol::Parsed& parsed);
  /// Takes the block with user and password.
  std::size_t take_credentials(SessionCore& core, RequestMeter& meter, std::string_view data);
  /// Takes a request of SASL: `header` bytes before `data`.
  std::size_t take_sasl(SessionCore& core, RequestMeter& meter, ValueIntake& values,
                        const protocol::Request& request, std::string_view data, std::size_t header);
  /// The reply to a client that asks for the mechanisms of SASL.
  static void tell_mechanisms(SessionCore& core, protocol::BinaryForm form);
  /// False: the login that the session waits for is not judged yet. The worker has taken the session out of
  /// the list of those that wait.
  [[nodiscard]] bool judged(SessionCore& core, RequestMeter& meter);
  /// The users were read again. False: this session's user must leave.
  [[nodiscard]] static bool user_stays(SessionCore& core, RequestMeter& meter);

 private:
  [[nodiscard]] static bool is_known(const SessionCore& core) noexcept;
  void log_in(SessionCore& core, RequestMeter& meter, Login::Claim claim);
  void finish(SessionCore& core, RequestMeter& meter);
  static void end(SessionCore& core, protocol::reply_code verdict);
  void count_wrong(SessionCore& core, std::string_view name);

  std::shared_ptr<const Login> login_;  ///< the login that is being judged
  std::uint32_t wrong_logins_ = 0;
  std::uint64_t block_left_ = 0;  ///< bytes of the credentials, with their end of line
};

}  // namespace mxkv::server
