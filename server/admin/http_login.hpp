// The login of an HTTP connection: the user and password of the header Authorization (RFC 7617), verified by
// the same credentials as clients' logins.
//
// Each request has the header. A header that was accepted is recognized by its digest as long as its user
// stays the same, so that it is hashed and counted only once. If the verdict takes a while (Credentials), the
// connection polls for it: that is rare, and so no bell can ring for a connection that is gone.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "server/net/users/credentials.hpp"

namespace mxkv::server {

/// The login of one connection. Thread-safety: the server's thread.
class HttpLogin {
 public:
  enum class verdict : std::uint8_t {
    nobody,  ///< the header was empty
    wrong,
    busy,   ///< too many logins are waiting, or the server ends
    waits,  ///< look() returns the verdict later
    accepted,
  };

  /// `client`: its address, as in Login::Claim. The other arguments outlive this.
  HttpLogin(Credentials& credentials, const PasswordDigester& digester, std::string client)
      : credentials_(credentials), digester_(digester), client_(std::move(client)) {}

  /// The verdict on a header; empty: the request had none.
  [[nodiscard]] verdict ask(std::string_view header);
  /// The verdict on the last header.
  [[nodiscard]] verdict look();

  /// The user accepted last; null: none.
  [[nodiscard]] const User* user() const noexcept { return user_.get(); }
  /// The user name in the last header; empty if it had none.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// Whether the connection has used up its wrong logins. It gets no further request.
  [[nodiscard]] bool is_over() const noexcept { return failures_ >= credentials_.rules().most; }

 private:
  [[nodiscard]] verdict fail();

  Credentials& credentials_;
  const PasswordDigester& digester_;
  const std::string client_;
  std::uint32_t failures_ = 0;
  std::string name_;
  PasswordDigest digest_{};  ///< of the last header
  std::shared_ptr<const User> user_;
  std::shared_ptr<const Login> login_;  ///< the login that waits for a verdict; null: none
};

/// Reads a header "Basic <base64 of user:password>". False: it has another form. Any thread.
[[nodiscard]] bool read_basic(std::string_view header, Login::Claim& claim);

}  // namespace mxkv::server
