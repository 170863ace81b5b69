// Session's functions: clients that have not logged in.
#include "protocol/reply.hpp"
#include "runtime/base/assert.hpp"
#include "server/net/session.hpp"

namespace mxkv::server {

// Until a client has said which user it is, only a set with its name and password counts. Its key, flags and
// time mean nothing. The block of any other command is swallowed.
std::size_t Session::take_login(std::string_view data) {
  const protocol::Request& request = host_->request;
  const protocol::Parsed parsed = host_->parser.parse_login(data.data(), data.size(), line_, host_->request);
  if (!is_line(parsed, data)) {
    return 0;
  }
  if (parsed.consumed > kMostOfStranger) {
    refuse_input();  // as if it had come in pieces
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
  const std::string_view verdict = whole ? host_->credentials->judge(block) : protocol::kBadLoginEnd;
  if (verdict == protocol::kStored) {
    state_.admit();
  } else {
    state_.reject();
    note(happening::wrong_login);
  }
  answer(verdict);
  return bytes;
}

}  // namespace mxkv::server
