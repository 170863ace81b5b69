// Who asks on a connection by HTTP: the user and password of its header Authorization (RFC 7617), judged by those whom
// clients are judged by.
//
// A header comes with each request. One that was accepted is known again by its digest while its user stays as it is, so
// that nothing is hashed or counted twice. Where the verdict takes a while (Credentials) it is asked for again and again:
// that is rare, and nobody has to be told who may be gone.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "server/net/credentials.hpp"

namespace mxkv::server {

/// Of one connection. Thread-safety: the server's thread.
class HttpLogin {
 public:
  enum class verdict : std::uint8_t {
    nobody,  ///< no login was tried
    wrong,
    busy,   ///< too many wait, or the server ends
    waits,  ///< look() tells, later
    accepted,
  };

  /// `client`: its address, as Login::Claim has it. Both others outlive this.
  HttpLogin(Credentials& credentials, const PasswordDigester& digester, std::string client)
      : credentials_(credentials), digester_(digester), client_(std::move(client)) {}

  /// What the header says; empty: there is none.
  [[nodiscard]] verdict ask(std::string_view header);
  /// The verdict on what was asked last.
  [[nodiscard]] verdict look();

  /// Who was accepted last; null: nobody.
  [[nodiscard]] const User* user() const noexcept { return user_.get(); }
  /// Whom the last header named, as far as it did.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// Whether as many were wrong as a connection may have: no more are heard.
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
  std::shared_ptr<const Login> login_;  ///< what waits; null: nothing does
};

/// The user and the password of a header "Basic <base64 of user:password>"; false: it is none. Any thread.
[[nodiscard]] bool read_basic(std::string_view header, Login::Claim& claim);

}  // namespace mxkv::server
