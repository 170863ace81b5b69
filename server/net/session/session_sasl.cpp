// Session's functions for logins in the binary protocol. SASL has many mechanisms; like memcached's own
// users, this server has PLAIN only.
#include <strings.h>

#include <string>

#include "protocol/binary.hpp"
#include "protocol/reply.hpp"
#include "runtime/base/assert.hpp"
#include "server/net/session/session.hpp"

namespace mxkv::server {

using protocol::binary_status;
using protocol::BinaryForm;

namespace {

constexpr std::string_view kPlain = "PLAIN";
/// Longest message of a login: the identity to act as, the user and the password.
constexpr std::uint64_t kMostMessage = 2 * Credentials::kMostBytes;

bool is_plain(std::string_view mechanism) noexcept {
  return mechanism.size() == kPlain.size() &&
         strncasecmp(mechanism.data(), kPlain.data(), kPlain.size()) == 0;
}

}  // namespace

bool Session::login_known() const noexcept {
  return host_->credentials != nullptr && host_->credentials->required();
}

// Without users the command is unknown, as in memcached. Then clients that log in wherever they can continue.
void Session::tell_mechanisms(BinaryForm form) {
  if (login_known()) {
    answer_binary_text(form, kPlain);
  } else {
    answer_binary(form, binary_status::unknown_command);
  }
}

// Returns the number of bytes used, `header` of them before `data`.
std::size_t Session::take_sasl(const protocol::Request& request, std::string_view data, std::size_t header) {
  const BinaryForm form = request.meta.binary;
  const std::uint64_t bytes = request.value_bytes;
  if (!login_known() || bytes > kMostMessage) {
    answer_binary(form, login_known() ? binary_status::auth_error : binary_status::unknown_command);
    if (bytes > 0) {
      swallow(bytes, {});
    }
    return header;
  }
  if (data.size() < bytes) {
    allowance_.put_back();
    return 0;  // few bytes: they are held until the rest comes
  }
  const auto message = data.substr(0, static_cast<std::size_t>(bytes));
  // sasl_step continues mechanisms with several messages. PLAIN has one.
  const bool plain = form.code == protocol::opcode::sasl_auth && is_plain(request.key);
  const protocol::PlainLogin said = plain ? protocol::read_plain_login(message) : protocol::PlainLogin{};
  state_.reject_binary();
  take_seat({});  // any earlier login ends
  if (said.good && said.user.find(' ') == std::string_view::npos) {
    binary_form_ = form;
    log_in({.user = std::string{said.user}, .password = std::string{said.password}, .client = {}});
  } else {
    answer_binary(form, binary_status::auth_error);
    count_wrong_login({});
  }
  return header + message.size();
}

}  // namespace mxkv::server
