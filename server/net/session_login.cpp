// Session's functions for clients that have not logged in, and for requests that users may not make.
#include <utility>

#include "protocol/command_table.hpp"
#include "protocol/reply.hpp"
#include "runtime/base/assert.hpp"
#include "server/net/connection_facts.hpp"
#include "server/net/session.hpp"

namespace mxkv::server {

// Before the login only a set with the user's name and password counts. Its key, flags and time mean nothing.
// The block of any other command is swallowed.
std::size_t Session::take_login(std::string_view data) {
  const protocol::Request& request = host_->request;
  const protocol::Parsed parsed = host_->parser.parse_login(data.data(), data.size(), line_, host_->request);
  if (!is_line(parsed, data)) {
    return 0;
  }
  if (parsed.consumed > kMostOfStranger) {
    refuse_input();  // the same happens if the line comes in pieces
    return 0;
  }
  const bool accepted = parsed.what == protocol::outcome::request;
  const bool has_block = accepted && protocol::takes_value(request.op);
  const std::uint64_t block = has_block ? request.value_bytes + protocol::kCrLf.size() : parsed.swallow;
  const bool logs_in = accepted && request.op == protocol::verb::set;
  if (logs_in && request.value_bytes <= Credentials::kMostBytes) {
    block_left_ = block;
    state_.begin_credentials();
  } else if (block > 0) {
    swallow(block, logs_in ? protocol::kLongLogin : protocol::kUnauthenticated);
  } else {
    answer(protocol::kUnauthenticated);
  }
  return parsed.consumed;
}

std::size_t Session::take_credentials(std::string_view data) {
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
    log_in(std::move(claim));
  } else {
    state_.reject();
    answer(whole ? protocol::kBadLogin : protocol::kBadLoginEnd);
    count_wrong_login({});
  }
  return bytes;
}

// The session takes nothing until there is a verdict.
void Session::log_in(Login::Claim claim) {
  claim.client = client_of(entry_->owner->client_name());
  claim.failures = wrong_logins_;
  login_ = host_->credentials->log_in(std::move(claim), host_->login_bell);
  if (login_->judged()) {
    finish_login();
  } else {
    pauses_.add(pause::login);
    host_->logging_in.push_back(entry_);
  }
}

// The caller has taken this session out of the list.
void Session::judged() {
  MXKV_ASSERT(pauses_.has(pause::login) && login_->judged(), "a session that waits is told");
  pauses_.remove(pause::login);
  if (state_.takes_input()) {
    finish_login();
  }
  resume();
}

void Session::finish_login() {
  const std::shared_ptr<const Login> login = std::move(login_);
  // If the users were replaced during the check, the same rule holds as for users logged in before.
  std::shared_ptr<const User> user =
      login->user() == nullptr ? nullptr : host_->credentials->still(*login->user());
  if (login->verdict() == login_verdict::busy) {
    end_login(protocol::reply_code::busy_login);
    drain();
  } else if (user == nullptr) {
    end_login(protocol::reply_code::wrong_login);
    count_wrong_login(login->name());
  } else if (!user->usage->begin_connection(user->options.connections)) {
    host_->credentials->count_crowded();
    end_login(protocol::reply_code::crowded_user);
    drain();
  } else {
    take_seat(UserSeat{std::move(user)});
    entry_->owner->logged_in(this->user()->options.name);
    end_login(protocol::reply_code::stored);
  }
}

// Anything but `stored` rejects the client.
void Session::end_login(protocol::reply_code verdict) {
  const bool good = verdict == protocol::reply_code::stored;
  if (state_.speaks_binary()) {
    if (good) {
      state_.admit_binary();
      answer_binary_text(binary_form_, "Authenticated");
      return;
    }
  } else {
    good ? state_.admit() : state_.reject();
  }
  answer_code(verdict);
}

void Session::count_wrong_login(std::string_view name) {
  note(happening::wrong_login, name.empty() ? "" : " as " + in_quotes(name));
  if (++wrong_logins_ >= host_->credentials->rules().most) {
    drain();
  }
}

void Session::take_seat(UserSeat seat) noexcept {
  seat_ = std::move(seat);
  const User* const now = user();
  limited_ = now != nullptr && !now->may_administer();
  usual_gets_ = now == nullptr || !now->limits_keys();
  usual_sets_ = usual_gets_ && (now == nullptr || now->may_write());
  meter(client_);
}

bool Session::user_stays() {
  if (user() == nullptr) {
    return true;
  }
  std::shared_ptr<const User> now = host_->credentials->still(*user());
  if (now == nullptr) {
    return false;
  }
  seat_.renew(std::move(now));
  meter(client_);
  return true;
}

// The log does not show keys: they may be secret from its readers.
void Session::count_forbidden(const protocol::Request& request) {
  host_->credentials->count_forbidden();
  note(happening::forbidden,
       " as " + in_quotes(user()->options.name) + ": " + std::string{protocol::name_of(request.op)});
}

// Executes nothing of the request, and swallows its block. The client gets the error even if it asked for
// silence.
std::size_t Session::forbid(const protocol::Request& request, std::size_t consumed) {
  count_forbidden(request);
  if (protocol::takes_value(request.op)) {
    swallow(request.value_bytes + protocol::kCrLf.size(), protocol::kForbidden);
  } else {
    answer(protocol::kForbidden);
  }
  return consumed;
}

}  // namespace mxkv::server
