// Connection's functions for output that waits for the disk, and input that waits for the journal.
#include <utility>

#include "runtime/base/assert.hpp"
#include "server/net/connection/connection.hpp"
#include "server/net/connection/connection_host.hpp"

namespace mxkv::server {

// Marks the output written since the last call. Earlier output waits for no later epoch than before.
void Connection::mark_output() {
  const std::uint64_t epoch =
      std::exchange(session_->entry().awaits_disk, false) ? net_.disk()->awaited() : 0;
  if (held_.judge(session_->output().end(), session_->entry().replies.all_closed(), epoch, net_.now_ns())) {
    net_.holds_output(*this);
  }
}

void Connection::reached_disk(std::uint64_t durable) {
  MXKV_ASSERT(!closed() && held_.holds(), "what waits for the disk is open");
  if (held_.open(durable, net_.now_ns())) {
    unread_ns_ = net_.now_ns();          // until now the client may have waited for replies
    static_cast<void>(session_.step());  // settle() sends it
  }
}

// This worker does not know what became of the requests. The last line takes the place of the first reply
// that is not sent. It can only stand where a reply begins: behind half of a reply, or in the binary
// protocol, the client would take it for a part of that.
void Connection::give_up_waiting() {
  MXKV_ASSERT(!closed(), "a closed connection waits for nothing");
  const std::string_view line = net_.disk()->given_up_line();
  const bool begins = held_.holds() ? held_.begins_with_a_reply() : session_->entry().replies.all_closed();
  if (!line.empty() && begins && !output_waits_ && !session_->state().speaks_binary() &&
      held_.sendable(session_->output()) == 0) {
    socket_.give_line(line);  // past the output, whose held bytes are never sent
  }
  NetCounters::add(net_.counters().journal_closed);
  close();
}

bool Connection::has_left(std::size_t end) const {
  const std::size_t sent = session_->entry().replies.output().sent_bytes();
  const bool is_sent = static_cast<std::ptrdiff_t>(end - sent) <= 0;
  return is_sent || (output_waits_ && held_.lets(end));
}

void Connection::pauses_reading() noexcept {
  not_read_since_ns_ = net_.now_ns();
  if (socket_.readable()) {
    note_unread();
  }
}

// Notes that requests may wait unread in the kernel, so that their time includes the wait for the journal.
void Connection::note_unread() noexcept {
  if (session_->paused_for(pause::journal) && input_since_ns_ == 0) {
    input_since_ns_ = net_.now_ns();
  }
}

// While the disk hangs, the journal accepts nothing, so no end of input is read. A client that ended its
// input and has no request left is gone. So is one that closed its unix socket, whatever it sent before,
// because nobody reads the replies. A TCP client that sent requests before its end may still wait for the
// replies: its connection stays, and keepalive finds it if the client is gone.
bool Connection::over_unread() {
  if (!socket_.reads_on() || is(life_stage::greeting)) {
    return false;
  }
  return socket_.hung_up() || (session_->awaits_input_alone() && socket_.ended());
}

}  // namespace mxkv::server
