#include "server/net/session/login_dialog.hpp"

#include <strings.h>

#include <string>
#include <utility>

#include "protocol/command_table.hpp"
#include "protocol/reply.hpp"
#include "runtime/base/assert.hpp"
#include "server/net/observe/connection_facts.hpp"
#include "server/net/session/binary_answers.hpp"

namespace mxkv::server {

namespace {

constexpr std::string_view kPlain = "PLAIN";
/// Longest message of a login: the identity to act as, the user and the password.
constexpr std::uint64_t kMostMessage = 2 * Credentials::kMostBytes;

bool is_plain(std::string_view mechanism) noexcept {
  return mechanism.size() == kPlain.size() &&
         strncasecmp(mechanism.data(), kPlain.data(), kPlain.size()) == 0;
}

}  // namespace

// Before the login only a set with the user's name and password counts. Its key, flags and time mean nothing.
// The block of any other command is swallowed.
std::size_t LoginDialog::take_line(SessionCore& core, ValueIntake& values, const protocol::Parsed& parsed) {
  const protocol::Request& request = core.host->request;
  if (parsed.consumed > SessionCore::kMostOfStranger) {
    core.refuse_input();  // the same happens if the line comes in pieces
    return 0;
  }
  const bool accepted = parsed.what == protocol::outcome::request;
  const bool has_block = accepted && protocol::takes_value(request.op);
  const std::uint64_t block = has_block ? request.value_bytes + protocol::kCrLf.size() : parsed.swallow;
  const bool logs_in = accepted && request.op == protocol::verb::set;
  if (logs_in && request.value_bytes <= Credentials::kMostBytes) {
    block_left_ = block;
    core.state.begin_credentials();
  } else if (block > 0) {
    values.swallow(core, block, logs_in ? protocol::kLongLogin : protocol::kUnauthenticated);
  } else {
    core.answer(protocol::kUnauthenticated);
  }
  return parsed.consumed;
}

std::size_t LoginDialog::take_credentials(SessionCore& core, RequestMeter& meter, std::string_view data) {
  const auto bytes = static_cast<std::size_t>(block_left_);
  MXKV_ASSERT(bytes >= protocol::kCrLf.size() && bytes <= Credentials::kMostBytes + protocol::kCrLf.size(),
              "a block that may be held");
  if (data.size() < bytes) {
    return 0;  // few bytes: they are held until the rest comes
  }
  block_left_ = 0;
  const std::string_view block = data.substr(0, bytes - protocol::kCrLf.size());
  const bool whole = data.substr(block.size(), protocol::kCrLf.size()) == protocol::kCrLf;
  Login::Claim claim;
  if (whole && Credentials::split(block, claim)) {
    log_in(core, meter, std::move(claim));
  } else {
    core.state.reject();
    core.answer(whole ? protocol::kBadLogin : protocol::kBadLoginEnd);
    count_wrong(core, {});
  }
  return bytes;
}

// The session takes nothing until there is a verdict.
void LoginDialog::log_in(SessionCore& core, RequestMeter& meter, Login::Claim claim) {
  claim.client = client_of(core.entry->owner->client_name());
  claim.failures = wrong_logins_;
  login_ = core.host->credentials->log_in(std::move(claim), core.host->login_bell);
  if (login_->judged()) {
    finish(core, meter);
  } else {
    core.pauses.add(pause::login);
    core.host->logging_in.push_back(core.entry);
  }
}

bool LoginDialog::judged(SessionCore& core, RequestMeter& meter) {
  MXKV_ASSERT(core.pauses.has(pause::login), "only a session that waits has a verdict to come");
  if (!login_->judged()) {
    return false;
  }
  core.pauses.remove(pause::login);
  if (core.state.takes_input()) {
    finish(core, meter);
  }
  return true;
}

void LoginDialog::finish(SessionCore& core, RequestMeter& meter) {
  const std::shared_ptr<const Login> login = std::move(login_);
  // If the users were replaced during the check, the same rule holds as for users logged in before.
  std::shared_ptr<const User> user =
      login->user() == nullptr ? nullptr : core.host->credentials->still(*login->user());
  if (login->verdict() == login_verdict::busy) {
    end(core, protocol::reply_code::busy_login);
    core.drain();
  } else if (user == nullptr) {
    end(core, protocol::reply_code::wrong_login);
    count_wrong(core, login->name());
  } else if (!user->usage->begin_connection(user->options.connections)) {
    core.host->credentials->count_crowded();
    end(core, protocol::reply_code::crowded_user);
    core.drain();
  } else {
    core.take_seat(UserSeat{std::move(user)});
    meter.review(core);
    core.entry->owner->logged_in(core.user()->options.name);
    end(core, protocol::reply_code::stored);
  }
}

// Anything but `stored` rejects the client.
void LoginDialog::end(SessionCore& core, protocol::reply_code verdict) {
  const bool good = verdict == protocol::reply_code::stored;
  if (core.state.speaks_binary()) {
    if (good) {
      core.state.admit_binary();
      answer_binary_text(core, core.binary_form, "Authenticated");
      return;
    }
  } else {
    good ? core.state.admit() : core.state.reject();
  }
  core.answer_code(verdict);
}

void LoginDialog::count_wrong(SessionCore& core, std::string_view name) {
  core.note(happening::wrong_login,
            {.text = name.empty() ? "" : " as " + in_quotes(name), .user = std::string{name}});
  if (++wrong_logins_ >= core.host->credentials->rules().most) {
    core.drain();
  }
}

bool LoginDialog::user_stays(SessionCore& core, RequestMeter& meter) {
  if (core.user() == nullptr || core.user()->is_visitor()) {
    return true;
  }
  std::shared_ptr<const User> now = core.host->credentials->still(*core.user());
  if (now == nullptr) {
    return false;
  }
  core.seat.renew(std::move(now));
  meter.review(core);
  return true;
}

bool LoginDialog::is_known(const SessionCore& core) noexcept {
  return core.host->credentials != nullptr && core.host->credentials->required();
}

// Without users the command is unknown, as in memcached. Then clients that log in wherever they can continue.
void LoginDialog::tell_mechanisms(SessionCore& core, protocol::BinaryForm form) {
  if (is_known(core)) {
    answer_binary_text(core, form, kPlain);
  } else {
    answer_binary(core, form, protocol::binary_status::unknown_command);
  }
}

std::size_t LoginDialog::take_sasl(SessionCore& core, RequestMeter& meter, ValueIntake& values,
                                   const protocol::Request& request, std::string_view data,
                                   std::size_t header) {
  const protocol::BinaryForm form = request.meta.binary;
  const std::uint64_t bytes = request.value_bytes;
  if (!is_known(core) || bytes > kMostMessage) {
    answer_binary(
        core, form,
        is_known(core) ? protocol::binary_status::auth_error : protocol::binary_status::unknown_command);
    if (bytes > 0) {
      values.swallow(core, bytes, {});
    }
    return header;
  }
  if (data.size() < bytes) {
    meter.allowance().put_back();
    return 0;  // few bytes: they are held until the rest comes
  }
  const auto message = data.substr(0, static_cast<std::size_t>(bytes));
  // sasl_step continues mechanisms with several messages. PLAIN has one.
  const bool plain = form.code == protocol::opcode::sasl_auth && is_plain(request.key);
  const protocol::PlainLogin said = plain ? protocol::read_plain_login(message) : protocol::PlainLogin{};
  core.state.reject_binary();
  core.take_seat({});  // any earlier login ends
  meter.review(core);
  if (said.good && said.user.find(' ') == std::string_view::npos) {
    core.binary_form = form;
    log_in(core, meter,
           {.user = std::string{said.user}, .password = std::string{said.password}, .client = {}});
  } else {
    answer_binary(core, form, protocol::binary_status::auth_error);
    count_wrong(core, {});
  }
  return header + message.size();
}

}  // namespace mxkv::server
