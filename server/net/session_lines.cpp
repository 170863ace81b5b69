// Session's functions: lines.
#include <utility>

#include "protocol/reply.hpp"
#include "runtime/base/assert.hpp"
#include "server/net/rights.hpp"
#include "server/net/session.hpp"

namespace mxkv::server {

// Takes usual lines many at once. Lines of the sample, and all other lines, go the long way.
std::size_t Session::take_usual(std::string_view data) {
  if (data.starts_with("get ") || data.starts_with("mg ")) {
    return usual_gets_ ? take_gets(data) : 0;
  }
  return usual_sets_ && (data.starts_with("set ") || data.starts_with("ms ")) ? take_sets(data) : 0;
}

std::size_t Session::take_line(std::string_view data) {
  if (line_.searched == 0) [[likely]] {
    if (const std::size_t used = take_usual(data); used != 0) [[likely]] {
      return used;
    }
  }
  allowance_.take(1);
  protocol::Request& request = host_->request;
  const protocol::Parsed parsed = host_->parser.parse(data.data(), data.size(), line_, request);
  switch (parsed.what) {
    case protocol::outcome::request:
      note_last(request.op);
      if (limited_ && !permits(*user(), request)) [[unlikely]] {
        return forbid(request, parsed.consumed);
      }
      sample(request);
      if (protocol::takes_value(request.op)) {
        if (const std::size_t used = take_with_value(request, data.substr(parsed.consumed)); used != 0)
            [[likely]] {
          return parsed.consumed + used;
        }
      }
      if (!dispatch(request)) {
        MXKV_ASSERT(!pauses_.empty(), "a request waits for a reason");
        take_again();
        return 0;
      }
      if (state_.is(session_state::keys)) {
        const auto line_left = static_cast<std::size_t>(data.data() + parsed.consumed - request.keys.data());
        keys_.bytes = request.keys.size();
        keys_.end_bytes = line_left - keys_.bytes;
        return parsed.consumed - line_left;
      }
      return parsed.consumed;
    case protocol::outcome::need_more:
      allowance_.put_back();
      return 0;
    case protocol::outcome::error:
      return take_error(parsed);
    case protocol::outcome::close:
      leave(data);
      return data.size();
  }
  return 0;
}

// A batch is sampled only once all of its lines have come.
void Session::sample(const protocol::Request& request) {
  if (std::exchange(again_, ReplyAddress::kNoTicket) == entry_->replies.next_ticket() ||
      request.op == protocol::verb::meta_batch) [[unlikely]] {
    return;
  }
  if (host_->sampler.due()) [[unlikely]] {
    host_->sampler.begin(*entry_, request);
    if (protocol::command_of(request.op).timed_as < command_kind::range) {
      host_->store.sampled(host_->worker, request.key);
    }
  }
}

// The bytes are no line of our protocol and cannot become one.
void Session::leave(std::string_view data) {
  const std::string_view spoken = protocol::foreign_protocol(data);
  if (spoken.empty()) {
    note(happening::endless_line);
  } else {
    note(happening::foreign_protocol, ": it speaks " + std::string{spoken});
  }
  drain_in_error();
}

void Session::note(happening what, const std::string& text) const {
  if (host_->happenings != nullptr) {
    host_->happenings->note(what, entry_->owner->client_name() + text);
  }
}

// Refuses a line that is no request, and swallows the block behind it.
std::size_t Session::take_error(const protocol::Parsed& parsed) {
  if (parsed.delete_key && (!limited_ || may_change(*user(), host_->request.key))) {
    const protocol::Request& request = host_->request;
    const bool binary_key = request.op == protocol::verb::meta_set && request.meta.binary_key;
    start_any(protocol::usual_delete(request.key, binary_key), true);
  }
  if (parsed.too_large) {
    host_->store.count_too_large(host_->worker);
  }
  if (parsed.swallow > 0) {
    swallow(parsed.swallow, parsed.error);
  } else if (!parsed.error.empty()) {
    answer(parsed.error);
  }
  if (parsed.closes) {
    drain_in_error();
  }
  return parsed.consumed;
}

// Whether a line was parsed, as a request or an error. For lines before a login and in a batch. False: the
// line is not complete, and its bytes wait; or no line will come, and the session drains.
bool Session::is_line(const protocol::Parsed& parsed, std::string_view data) {
  if (parsed.what == protocol::outcome::need_more) {
    allowance_.put_back();
  }
  if (parsed.what == protocol::outcome::close) {
    leave(data);
  }
  return parsed.what == protocol::outcome::request || parsed.what == protocol::outcome::error;
}

void Session::answer(std::string_view text) {
  ReplyQueue& replies = entry_->replies;
  const std::uint32_t ticket = replies.open();
  replies.append(ticket, text);
  replies.close(ticket);
  host_->directory.mark_dirty(*entry_);
}

}  // namespace mxkv::server
