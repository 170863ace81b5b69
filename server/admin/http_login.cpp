#include "server/admin/http_login.hpp"

#include <algorithm>
#include <utility>

#include "protocol/reply.hpp"

namespace mxkv::server {

namespace {

/// No bell has to ring for a login, because its connection polls.
class SilentBell final : public LoginBell {
 public:
  void login_judged() noexcept override {}
};
SilentBell silent_bell;  // without state

bool is_basic(std::string_view word) noexcept {
  return std::ranges::equal(word, std::string_view{"basic"}, {},
                            [](char c) { return static_cast<char>(static_cast<unsigned char>(c) | 0x20U); });
}

bool is_control(char c) noexcept {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte == 0x7f;
}

}  // namespace

bool read_basic(std::string_view header, Login::Claim& claim) {
  const std::size_t space = std::min(header.find(' '), header.size());
  if (!is_basic(header.substr(0, space))) {
    return false;
  }
  const std::string_view coded = header.substr(std::min(header.find_first_not_of(' ', space), header.size()));
  std::string text(coded.size() / 4 * 3, '\0');
  std::size_t bytes = 0;
  const bool reads = protocol::read_base64(coded, text.data(), bytes);
  text.resize(reads ? bytes : 0);
  const std::size_t colon = text.find(':');
  const bool is_claim = colon != std::string::npos && text.size() <= Credentials::kMostBytes &&
                        std::ranges::none_of(text, is_control);
  if (is_claim) {
    claim.user = text.substr(0, colon);
    claim.password = text.substr(colon + 1);
  }
  wipe(text);
  return is_claim;
}

HttpLogin::verdict HttpLogin::ask(std::string_view header) {
  if (header.empty()) {
    return verdict::nobody;
  }
  const PasswordDigest digest = digester_.digest(header);
  if (user_ != nullptr && same_digest(digest, digest_)) {
    user_ = credentials_.still(*user_);
    if (user_ != nullptr) {
      return verdict::accepted;
    }
  }
  digest_ = digest;
  user_.reset();
  name_.clear();
  Login::Claim claim;
  if (!read_basic(header, claim)) {
    return fail();
  }
  name_ = claim.user;
  claim.client = client_;
  claim.failures = failures_;
  login_ = credentials_.log_in(std::move(claim), &silent_bell);
  return look();
}

// If the users were replaced during the check, the same rule holds as for users accepted before.
HttpLogin::verdict HttpLogin::look() {
  if (!login_->judged()) {
    return verdict::waits;
  }
  const std::shared_ptr<const Login> login = std::exchange(login_, nullptr);
  if (login->verdict() == login_verdict::busy) {
    return verdict::busy;
  }
  user_ = login->user() == nullptr ? nullptr : credentials_.still(*login->user());
  return user_ == nullptr ? fail() : verdict::accepted;
}

HttpLogin::verdict HttpLogin::fail() {
  ++failures_;
  return verdict::wrong;
}

}  // namespace mxkv::server
