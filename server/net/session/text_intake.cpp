#include "server/net/session/text_intake.hpp"

#include <utility>

#include "protocol/command_table.hpp"
#include "protocol/reply.hpp"
#include "runtime/base/assert.hpp"
#include "server/net/users/rights.hpp"

namespace mxkv::server {

// Takes usual lines many at once. Lines of the sample, and all other lines, go the long way.
std::size_t TextIntake::take_usual(SessionParts& parts, std::string_view data) {
  SessionCore& core = parts.core;
  if (data.starts_with("get ") || data.starts_with("mg ")) {
    return core.usual_gets ? take_gets(parts, data) : 0;
  }
  return core.usual_sets && (data.starts_with("set ") || data.starts_with("ms ")) ? take_sets(parts, data)
                                                                                  : 0;
}

// A small value whose end has not come yet waits with its line, so that both are taken with the requests behind them.
// If it began at once, it would be a task, for whose turn to commit all sets behind it in this read would wait.
bool TextIntake::waits_for_rest(const protocol::Request& request, const protocol::Parsed& parsed,
                                std::string_view data) noexcept {
  const std::uint64_t whole = parsed.consumed + request.value_bytes + protocol::kCrLf.size();
  return data.size() < whole && whole <= kMostHeldWhole;
}

std::size_t TextIntake::take_line(SessionParts& parts, std::string_view data) {
  SessionCore& core = parts.core;
  if (core.line.searched == 0) [[likely]] {
    if (const std::size_t used = take_usual(parts, data); used != 0) [[likely]] {
      return used;
    }
  }
  parts.meter.allowance().take(1);
  protocol::Request& request = core.host->request;
  const protocol::Parsed parsed = core.host->parser.parse(data.data(), data.size(), core.line, request);
  switch (parsed.what) {
    case protocol::outcome::request:
      core.note_last(request.op);
      if (core.limited && !permits(*core.user(), request)) [[unlikely]] {
        return forbid(parts, request, parsed.consumed);
      }
      if (protocol::takes_value(request.op) && waits_for_rest(request, parsed, data)) {
        parts.meter.allowance().put_back();
        return 0;
      }
      core.sample(request);
      if (protocol::takes_value(request.op)) {
        if (const std::size_t used =
                ValueIntake::take_whole(core, parts.launcher, request, data.substr(parsed.consumed));
            used != 0) [[likely]] {
          return parsed.consumed + used;
        }
      }
      if (!dispatch(parts, request)) {
        MXKV_ASSERT(!core.pauses.empty(), "a request waits for a reason");
        core.take_again();
        return 0;
      }
      if (core.state.is(session_state::keys)) {
        const auto line_left = static_cast<std::size_t>(data.data() + parsed.consumed - request.keys.data());
        keys_.bytes = request.keys.size();
        keys_.end_bytes = line_left - keys_.bytes;
        return parsed.consumed - line_left;
      }
      return parsed.consumed;
    case protocol::outcome::need_more:
      if (data.size() <= kMostHeldWhole) {
        core.line = {};  // few bytes are searched again, and the whole line may be taken with those behind it
      }
      parts.meter.allowance().put_back();
      return 0;
    case protocol::outcome::error:
      return take_error(parts, parsed);
    case protocol::outcome::close:
      leave(core, data);
      return data.size();
  }
  return 0;
}

void TextIntake::leave(SessionCore& core, std::string_view data) {
  const std::string_view spoken = protocol::foreign_protocol(data);
  if (spoken.empty()) {
    core.note(happening::endless_line);
  } else {
    core.note(happening::foreign_protocol, {.text = ": it speaks " + std::string{spoken}});
  }
  core.drain_in_error();
}

// Refuses a line that is no request, and swallows the block behind it.
std::size_t TextIntake::take_error(SessionParts& parts, const protocol::Parsed& parsed) {
  SessionCore& core = parts.core;
  if (parsed.delete_key && (!core.limited || may_change(*core.user(), core.host->request.key))) {
    const protocol::Request& request = core.host->request;
    const bool binary_key = request.op == protocol::verb::meta_set && request.meta.binary_key;
    parts.launcher.start_any(core, protocol::usual_delete(request.key, binary_key), true);
  }
  if (parsed.too_large) {
    core.host->store.count_too_large(core.host->worker);
  }
  if (parsed.swallow > 0) {
    parts.values.swallow(core, parsed.swallow, parsed.error);
  } else if (!parsed.error.empty()) {
    core.answer(parsed.error);
  }
  if (parsed.closes) {
    core.drain_in_error();
  }
  return parsed.consumed;
}

// Whether a line was parsed, as a request or an error. For lines before a login and in a batch. False: the
// line is not complete, and its bytes wait; or no line will come, and the session drains.
bool TextIntake::is_line(SessionParts& parts, const protocol::Parsed& parsed, std::string_view data) {
  if (parsed.what == protocol::outcome::need_more) {
    parts.meter.allowance().put_back();
  }
  if (parsed.what == protocol::outcome::close) {
    leave(parts.core, data);
  }
  return parsed.what == protocol::outcome::request || parsed.what == protocol::outcome::error;
}

// Executes nothing of the request, and swallows its block. The client gets the error even if it asked for
// silence.
std::size_t TextIntake::forbid(SessionParts& parts, const protocol::Request& request, std::size_t consumed) {
  SessionCore& core = parts.core;
  core.count_forbidden(request);
  if (protocol::takes_value(request.op)) {
    parts.values.swallow(core, request.value_bytes + protocol::kCrLf.size(), protocol::kForbidden);
  } else {
    core.answer(protocol::kForbidden);
  }
  return consumed;
}

bool TextIntake::dispatch(SessionParts& parts, const protocol::Request& request) {
  SessionCore& core = parts.core;
  using protocol::beginning;
  switch (protocol::command_of(request.op).begins) {
    case beginning::keys:
      begin_keys(parts, request);
      return true;
    case beginning::value:
      return parts.values.begin(core, request, false);
    case beginning::point:
      parts.launcher.start_any(core, protocol::point_request(request), request.noreply);
      return true;
    case beginning::noop:
      // A peer's noop only ends the reply before it.
      if ((core.entry->commits.in_flight() == 0 && core.waiting == 0) || core.entry->by_peer) [[likely]] {
        core.answer(protocol::kMetaNoop);
        return true;
      }
      // Quiet writes must have taken effect when it is answered.
      return parts.streams.begin_alone(core, parts.meter, request, operation_kind::barrier);
    case beginning::page:
      return parts.streams.begin_alone(core, parts.meter, request, operation_kind::range);
    case beginning::alone:
      return parts.streams.begin_alone(core, parts.meter, request, operation_kind::barrier);
    case beginning::batch:
      parts.batch.begin(core, request.batch_lines);
      return true;
    case beginning::version:
      core.answer(core.host->version_line);
      return true;
    case beginning::tune:
      if (!request.noreply) {
        core.answer(protocol::kOk);
      }
      return true;
    case beginning::client:
      if (!request.argument.starts_with("name")) {
        return parts.streams.begin_alone(core, parts.meter, request, operation_kind::barrier);
      }
      core.answer(core.entry->owner->take_name(protocol::word_behind(request.argument)) ? protocol::kOk
                                                                                        : protocol::kBadName);
      return true;
    case beginning::watch:
      parts.streams.watch(core, request.watched);
      return true;
    case beginning::range_watch:
      if (request.op != protocol::verb::meta_watch) {
        return parts.watches.change(core, request);
      }
      parts.watches.begin(core, request);
      return true;
    case beginning::dump:
      parts.streams.begin_dump(core, request);
      return true;
    case beginning::quit:
      core.drain();
      return true;
  }
  return true;
}

// A request of one key starts at once. With several keys, the keys start one by one as there is room.
void TextIntake::begin_keys(SessionParts& parts, const protocol::Request& request) {
  SessionCore& core = parts.core;
  if (request.key_count > 1) {
    keys_.each = protocol::point_request(request);
    keys_.each.end_line = false;
    core.state.begin_keys();
  } else if (protocol::command_of(request.op).terms.touches) {
    parts.launcher.start(core, protocol::point_request(request), operation_kind::exclusive, nullptr, false);
  } else {
    parts.launcher.start(core, {.key = request.key, .op = request.op}, operation_kind::read, nullptr, false);
  }
}

std::size_t TextIntake::take_batch_line(SessionParts& parts, std::string_view data) {
  SessionHost& host = *parts.core.host;
  const protocol::Parsed parsed = host.parser.parse(data.data(), data.size(), parts.core.line, host.request);
  return is_line(parts, parsed, data) ? parts.batch.take(parts.core, parts.values, parsed) : 0;
}

std::size_t TextIntake::take_login(SessionParts& parts, std::string_view data) {
  SessionHost& host = *parts.core.host;
  const protocol::Parsed parsed =
      host.parser.parse_login(data.data(), data.size(), parts.core.line, host.request);
  return is_line(parts, parsed, data) ? parts.login.take_line(parts.core, parts.values, parsed) : 0;
}

}  // namespace mxkv::server
