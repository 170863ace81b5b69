#include "server/net/session/binary_intake.hpp"

#include "protocol/binary.hpp"
#include "protocol/reply.hpp"
#include "runtime/base/assert.hpp"
#include "server/net/session/binary_answers.hpp"
#include "server/net/users/rights.hpp"

namespace mxkv::server {

using protocol::binary_status;
using protocol::BinaryForm;
using protocol::opcode;

namespace {

void refuse_binary(SessionParts& parts, const protocol::BinaryParsed& parsed,
                   const protocol::Request& request) {
  SessionCore& core = parts.core;
  const BinaryForm form = request.meta.binary;
  if (parsed.delete_key && (!core.limited || may_change(*core.user(), request.key))) {
    parts.launcher.start_any(core, protocol::usual_delete(request.key, request.meta.binary_key), true);
  }
  if (parsed.error == binary_status::too_large) {
    core.host->store.count_too_large(core.host->worker);
  }
  answer_binary(core, form, parsed.error);
  if (parsed.closes) {
    core.drain_in_error();
  } else if (parsed.swallow > 0) {
    parts.values.swallow(core, parsed.swallow, {});
  }
}

// As forbid(): the client gets the error even if it asked for silence.
void forbid_binary(SessionParts& parts, const protocol::Request& request) {
  SessionCore& core = parts.core;
  core.count_forbidden(request);
  answer_binary(core, request.meta.binary, status_of(protocol::reply_code::forbidden));
  if (protocol::takes_value(request.op) && request.value_bytes > 0) {
    parts.values.swallow(core, request.value_bytes, {});
  }
}

// False: the request has to be taken again later. `used`: bytes of the value, which is complete or has begun.
[[nodiscard]] bool take_binary_value(SessionParts& parts, const protocol::Request& request,
                                     std::string_view data, std::size_t& used) {
  SessionCore& core = parts.core;
  const auto bytes = static_cast<std::size_t>(request.value_bytes);
  if (bytes <= kInlineValueBytes && data.size() >= bytes) {
    ItemBuilder value{core.host->worker, request, data.substr(0, bytes)};
    if (!value.failed()) [[likely]] {
      parts.launcher.start(core, value.request(), operation_kind::write, &value, false);
      used = bytes;
      return true;
    }
  }
  if (!parts.values.begin(core, request, false)) {
    return false;
  }
  if (parts.values.complete()) {
    static_cast<void>(parts.values.take_end(core, parts.launcher, parts.batch, {}));
  }
  return true;
}

// False: the request has to wait.
[[nodiscard]] bool dispatch_binary(SessionParts& parts, const protocol::Request& request) {
  SessionCore& core = parts.core;
  const BinaryForm form = request.meta.binary;
  switch (request.op) {
    case protocol::verb::meta_noop:
      if (form.code == opcode::sasl_mechanisms) {
        LoginDialog::tell_mechanisms(core, form);
      } else {
        answer_binary(core, form, binary_status::success);
      }
      return true;
    case protocol::verb::version: {
      std::string_view version = core.host->version_line;
      version.remove_prefix(version.find(' ') + 1);
      answer_binary_text(core, form, version.substr(0, version.find('\r')));
      return true;
    }
    case protocol::verb::quit:
      answer_binary(core, form, binary_status::success);
      core.drain();
      return true;
    case protocol::verb::flush_all:
    case protocol::verb::stats:
    case protocol::verb::verbosity:
      return parts.streams.begin_alone(core, parts.meter, request, operation_kind::barrier);
    default:
      parts.launcher.start_any(core, protocol::point_request(request), false);
      return true;
  }
}

}  // namespace

std::size_t take_binary(SessionParts& parts, std::string_view data) {
  SessionCore& core = parts.core;
  parts.meter.allowance().take(1);
  protocol::Request& request = core.host->binary_request;
  const protocol::BinaryParsed parsed =
      protocol::parse_binary(data.data(), data.size(), core.host->parser.limits(), request);
  if (parsed.what == protocol::outcome::need_more) {
    parts.meter.allowance().put_back();
    return 0;
  }
  if (parsed.what == protocol::outcome::close) {
    core.note(happening::foreign_protocol, {.text = ": its bytes are not a request of the binary protocol"});
    core.drain_in_error();
    return data.size();
  }
  const BinaryForm form = request.meta.binary;
  if (core.state.before_login() && !protocol::precedes_login(form.code)) {
    answer_binary(core, form, binary_status::auth_error);
    core.drain();
    return data.size();
  }
  if (parsed.what == protocol::outcome::error) {
    refuse_binary(parts, parsed, request);
    return parsed.consumed;
  }
  const std::string_view behind = data.substr(parsed.consumed);
  if (form.code == opcode::sasl_auth || form.code == opcode::sasl_step) {
    return parts.login.take_sasl(core, parts.meter, parts.values, request, behind, parsed.consumed);
  }
  core.note_last(request.op);
  if (core.limited && !permits(*core.user(), request)) [[unlikely]] {
    forbid_binary(parts, request);
    return parsed.consumed;
  }
  core.sample(request);
  if (protocol::takes_value(request.op)) {
    std::size_t used = 0;
    if (!take_binary_value(parts, request, behind, used)) {
      core.take_again();
      return 0;
    }
    return parsed.consumed + used;
  }
  if (!dispatch_binary(parts, request)) {
    MXKV_ASSERT(!core.pauses.empty(), "a request waits for a reason");
    core.take_again();
    return 0;
  }
  return parsed.consumed;
}

}  // namespace mxkv::server
