// Connection's functions for output that waits for the disk, and input that waits for the journal.
#include <poll.h>
#include <sys/socket.h>

#include <utility>

#include "runtime/base/assert.hpp"
#include "server/net/connection/connection.hpp"
#include "server/net/connection/connection_host.hpp"

namespace mxkv::server {

// Marks the output written since the last call. Earlier output waits for no later epoch than before.
void Connection::mark_output() {
  const std::size_t from = std::exchange(judged_, session_->output().end());
  const bool whole = std::exchange(judged_whole_, session_->entry().replies.all_closed());
  if (!std::exchange(session_->entry().awaits_disk, false)) {
    return;
  }
  const CommitGate& disk = *net_.disk();
  if (const std::uint64_t epoch = disk.must_wait_for(); epoch > disk.durable()) {
    if (!gate_.holds()) {
      held_whole_ = whole;
      held_since_ns_ = net_.now_ns();
      net_.holds_output(*this);
    }
    gate_.add(from, epoch);
  }
}

void Connection::reached_disk(std::uint64_t durable) {
  MXKV_ASSERT(!closed() && gate_.holds(), "what waits for the disk is open");
  if (gate_.open(durable)) {
    held_whole_ = false;  // not known for a later mark
    held_since_ns_ = net_.now_ns();
    unread_ns_ = net_.now_ns();          // until now the client may have waited for replies
    static_cast<void>(session_.step());  // settle() sends it
  }
}

// This worker does not know what became of the requests. The last line takes the place of the first reply
// that is not sent. It can only stand where a reply begins: behind half of a reply, or in the binary
// protocol, the client would take it for a part of that.
void Connection::give_up_waiting() {
  MXKV_ASSERT(!closed(), "a closed connection waits for nothing");
  OutputBuffer& output = session_->output();
  const std::string_view line = net_.disk()->given_up_line();
  const bool begins = gate_.holds() ? held_whole_ : session_->entry().replies.all_closed();
  if (!line.empty() && begins && !output_waits_ && !session_->state().speaks_binary() &&
      gate_.sendable(output.sent_bytes(), output.unsent_bytes()) == 0) {
    say_last(line);
  }
  NetCounters::add(net_.counters().journal_closed);
  close();
}

bool Connection::has_left(std::size_t end) const {
  const std::size_t sent = session_->entry().replies.output().sent_bytes();
  const bool is_sent = static_cast<std::ptrdiff_t>(end - sent) <= 0;
  return is_sent || (output_waits_ && gate_.lets(end));
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
  if (!read_on_ || is(life_stage::greeting)) {
    return false;
  }
  pollfd both_ways{.fd = socket_, .events = 0, .revents = 0};
  if (::poll(&both_ways, 1, 0) == 1 && (both_ways.revents & (POLLHUP | POLLERR)) != 0) {
    return true;
  }
  if (!session_->awaits_input_alone()) {
    return false;
  }
  char byte = 0;
  return tls_ != nullptr ? tls_ended() : ::recv(socket_, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

void Connection::journal_has_room() {
  MXKV_ASSERT(!closed(), "a closed connection waits in no list");
  session_.step().journal_has_room();
}

}  // namespace mxkv::server
