// Session's functions: requests of memcached's binary protocol.
//
// They are executed like text requests. Each request has a ticket, even a quiet one: its ticket
// closes without a byte if it succeeded. So a noop comes after them without a barrier.
#include <string>

#include "protocol/binary_reply.hpp"
#include "protocol/reply_codes.hpp"
#include "runtime/base/assert.hpp"
#include "server/net/rights.hpp"
#include "server/net/session.hpp"

namespace mxkv::server {

using protocol::binary_status;
using protocol::BinaryForm;
using protocol::opcode;

namespace {

/// The reply to `stats` as packets: one for each line, and an empty one at the end.
std::string stat_packets(std::string_view text, BinaryForm form, bool more) {
  std::string packets;
  const auto add = [&packets, form](std::string_view name, std::string_view value) {
    std::array<char, protocol::kBinaryHeaderBytes> header;
    write_binary_header(header.data(), form, {.key = name.size(), .body = name.size() + value.size()});
    packets.append(header.data(), header.size()).append(name).append(value);
  };
  while (text.starts_with("STAT ")) {
    const std::string_view line = text.substr(5, text.find('\r') - 5);
    const std::size_t name = line.find(' ');
    add(line.substr(0, name), name == std::string_view::npos ? std::string_view{} : line.substr(name + 1));
    text.remove_prefix(5 + line.size() + protocol::kCrLf.size());
  }
  if (!more) {
    add({}, {});
  }
  return packets;
}

}  // namespace

// Returns the number of bytes used.
std::size_t Session::take_binary(std::string_view data) {
  allowance_.take(1);
  protocol::Request& request = host_->binary_request;
  const protocol::BinaryParsed parsed =
      protocol::parse_binary(data.data(), data.size(), host_->parser.limits(), request);
  if (parsed.what == protocol::outcome::need_more) {
    allowance_.put_back();
    return 0;
  }
  if (parsed.what == protocol::outcome::close) {
    note(happening::foreign_protocol, ": no request of the binary protocol begins so");
    drain_in_error();
    return data.size();
  }
  const BinaryForm form = request.meta.binary;
  if (state_.before_login() && !protocol::precedes_login(form.code)) {
    answer_binary(form, binary_status::auth_error);
    drain();
    return data.size();
  }
  if (parsed.what == protocol::outcome::error) {
    refuse_binary(parsed, request);
    return parsed.consumed;
  }
  const std::string_view behind = data.substr(parsed.consumed);
  if (form.code == opcode::sasl_auth || form.code == opcode::sasl_step) {
    return take_sasl(request, behind, parsed.consumed);
  }
  note_last(request.op);
  if (limited_ && !permits(*user(), request)) [[unlikely]] {
    forbid_binary(request);
    return parsed.consumed;
  }
  sample(request);
  if (protocol::takes_value(request.op)) {
    std::size_t used = 0;
    if (!take_binary_value(request, behind, used)) {
      take_again();
      return 0;
    }
    return parsed.consumed + used;
  }
  if (!dispatch_binary(request)) {
    MXKV_ASSERT(!pauses_.empty(), "a request waits for a reason");
    take_again();
    return 0;
  }
  return parsed.consumed;
}

void Session::refuse_binary(const protocol::BinaryParsed& parsed, const protocol::Request& request) {
  const BinaryForm form = request.meta.binary;
  if (parsed.delete_key && (!limited_ || may_change(*user(), request.key))) {
    start_any(protocol::usual_delete(request.key, request.meta.binary_key), true);
  }
  if (parsed.error == binary_status::too_large) {
    host_->store.count_too_large(host_->worker);
  }
  answer_binary(form, parsed.error);
  if (parsed.closes) {
    drain_in_error();
  } else if (parsed.swallow > 0) {
    swallow(parsed.swallow, {});
  }
}

// As forbid(): the client gets the error even if it asked for silence.
void Session::forbid_binary(const protocol::Request& request) {
  count_forbidden(request);
  answer_binary(request.meta.binary, status_of(protocol::reply_code::forbidden));
  if (protocol::takes_value(request.op) && request.value_bytes > 0) {
    swallow(request.value_bytes, {});
  }
}

// False: the request has to be taken again later. `used`: bytes of the value, which is complete or has begun.
bool Session::take_binary_value(const protocol::Request& request, std::string_view data, std::size_t& used) {
  const auto bytes = static_cast<std::size_t>(request.value_bytes);
  if (bytes <= kInlineValueBytes && data.size() >= bytes) {
    ItemBuilder value{host_->worker, request, data.substr(0, bytes)};
    if (!value.failed()) [[likely]] {
      start(value.request(), operation_kind::write, &value, false);
      used = bytes;
      return true;
    }
  }
  if (!begin_value(request)) {
    return false;
  }
  if (block_left_ == 0) {
    static_cast<void>(take_value_end({}));
  }
  return true;
}

// False: the request has to wait.
bool Session::dispatch_binary(const protocol::Request& request) {
  const BinaryForm form = request.meta.binary;
  switch (request.op) {
    case protocol::verb::meta_noop:
      if (form.code == opcode::sasl_mechanisms) {
        tell_mechanisms(form);
      } else {
        answer_binary(form, binary_status::success);
      }
      return true;
    case protocol::verb::version: {
      std::string_view version = host_->version_line;
      version.remove_prefix(version.find(' ') + 1);
      answer_binary_text(form, version.substr(0, version.find('\r')));
      return true;
    }
    case protocol::verb::quit:
      answer_binary(form, binary_status::success);
      drain();
      return true;
    case protocol::verb::flush_all:
    case protocol::verb::stats:
    case protocol::verb::verbosity:
      return dispatch_alone(request, operation_kind::barrier);
    default:
      start_any(protocol::point_request(request), false);
      return true;
  }
}

// Converts a page of the text protocol.
std::string Session::binary_text(const protocol::Request& request, std::string_view text,
                                 const AdminCursor& cursor) {
  const BinaryForm form = request.meta.binary;
  const binary_status status = status_of(cursor.code);
  if (status == binary_status::success && request.op == protocol::verb::stats) {
    return stat_packets(text, form, cursor.more);
  }
  std::array<char, protocol::kMostBinaryErrorBytes> answer;
  char* const end = status == binary_status::success ? write_binary_header(answer.data(), form, {})
                                                     : write_binary_error(answer.data(), form, status);
  return {answer.data(), end};
}

void Session::answer_binary(BinaryForm form, binary_status status) {
  if (status == binary_status::success && form.quiet()) {
    return;
  }
  std::array<char, protocol::kMostBinaryErrorBytes> text;
  char* const end = status == binary_status::success ? write_binary_header(text.data(), form, {})
                                                     : write_binary_error(text.data(), form, status);
  answer({text.data(), static_cast<std::size_t>(end - text.data())});
}

void Session::answer_binary_text(BinaryForm form, std::string_view text) {
  std::array<char, protocol::kMostBinaryErrorBytes> answered;
  MXKV_ASSERT(text.size() <= answered.size() - protocol::kBinaryHeaderBytes, "short texts are answered");
  char* const end =
      protocol::write_text(write_binary_header(answered.data(), form, {.body = text.size()}), text);
  answer({answered.data(), static_cast<std::size_t>(end - answered.data())});
}

// In whatever protocol the client speaks.
void Session::answer_code(protocol::reply_code code) {
  if (state_.speaks_binary()) {
    answer_binary(binary_form_, status_of(code));
  } else {
    answer(text_of(code));
  }
}

}  // namespace mxkv::server
