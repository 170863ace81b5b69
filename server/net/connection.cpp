#include "server/net/connection.hpp"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "runtime/base/assert.hpp"
#include "server/net/net_worker.hpp"

namespace mxkv::server {

namespace {
constexpr std::size_t kGatheredPieces = 64;
/// Reads of a connection that is drained: a client that never stops sending must not hold up the end.
constexpr std::uint32_t kDrainReads = 64;
/// Bytes that one connection sends in a round, about.
constexpr std::size_t kMostSent = std::size_t{512} << 10U;
/// Where memory is short, a client that did nothing for so long has to go.
constexpr std::uint64_t kIdleWhereShortNs = 1'000'000'000;
}  // namespace

Connection::Connection(NetWorker& net, int socket)
    : net_(net), socket_(net.executor(), socket), session_(std::in_place, net.host(), *this) {
  judged_ = session_->output().end();  // the entry in the directory, and its counts, had others before
  boost::system::error_code ignored;
  socket_.non_blocking(true, ignored);
  read_ns_.store(net.now_ns(), std::memory_order_relaxed);
  readable_ = true;  // most clients speak first: a read now spares a wait
  net_.make_ready(*this);
}

Connection::~Connection() {
  MXKV_ASSERT(deletable(), "a connection is closed, and its waits are over, before it goes");
}

void Connection::take_turn() {
  MXKV_ASSERT(!closed(), "a closed connection has no turn");
  if (session_->output().unsent_bytes() > 0 && !write_armed_) [[unlikely]] {
    net_.directory().mark_dirty(session_->entry());  // flush() left some for this turn
  }
  if (net_.reads_paused()) [[unlikely]] {
    if (!session_->paused_for(pause::journal)) {
      session_->wait_for_journal();
      net_.wait_for_journal(*this);
    }
    return;
  }
  if (session_->pauses().has(pause::turn | pause::memory)) {
    session_->resume();
  }
  if (readable_ && session_->wants_input()) {
    read();
  }
  if (!closed()) {
    arm();
  }
}

void Connection::read() {
  MXKV_ASSERT(session_->wants_input(), "bytes are read for a session that takes them");
  const std::span<char> buffer = net_.read_buffer().first(net_.most_read());
  const std::span<char> space = session_->value_space();
  std::array<iovec, 2> into{iovec{space.data(), space.size()}, iovec{buffer.data(), buffer.size()}};
  const std::size_t most = space.size() + buffer.size();
  const ssize_t got = space.empty() ? ::recv(socket_.native_handle(), buffer.data(), buffer.size(), 0)
                                    : ::readv(socket_.native_handle(), into.data(), into.size());
  if (got > 0) {
    const auto bytes = static_cast<std::size_t>(got);
    readable_ = bytes == most;  // read on only if there may be more
    take_bytes(bytes, std::min(bytes, space.size()));
    return;
  }
  readable_ = false;
  if (got == 0) {
    session_->end_of_input();
    net_.directory().mark_dirty(session_->entry());
  } else if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
    close();  // reset by the client, as a rule: no reply would reach it
  }
}

// `direct` of the bytes are in the session's value already, the others in the read buffer.
void Connection::take_bytes(std::size_t bytes, std::size_t direct) {
  read_ns_.store(net_.now_ns(), std::memory_order_relaxed);
  NetCounters::add(net_.counters().read_bytes, bytes);
  if (direct > 0) {
    session_->received_value(direct);
  }
  if (bytes > direct) {
    session_->receive(net_.read_buffer().data(), bytes - direct, NetWorker::kReadHeadroom);
  }
  if (session_->finished()) {
    net_.directory().mark_dirty(session_->entry());
  }
  if (session_->refused()) [[unlikely]] {
    net_.refused_input();
  }
  if (stage_ == connection_stage::draining) {
    MXKV_ASSERT(drain_reads_left_ > 0, "the last read ends the input");
    readable_ = --drain_reads_left_ != 0;
  }
}

// What the connection waits for next, if anything.
void Connection::arm() {
  if (session_->paused_for(pause::turn)) {
    NetCounters::add(net_.counters().yields);
    net_.make_ready(*this);
  } else if (session_->paused_for(pause::memory)) {
    net_.wait_for_memory(*this);
  } else if (session_->wants_input()) {
    if (readable_) {
      net_.make_ready(*this);
    } else if (stage_ == connection_stage::draining) {
      session_->end_of_input();
      net_.directory().mark_dirty(session_->entry());
    } else {
      arm_read();
    }
  }
}

void Connection::arm_read() {
  if (read_armed_) {
    return;
  }
  read_armed_ = true;
  socket_.async_wait(Descriptor::wait_read,
                     InPlaceHandler{&read_memory_, [this](const boost::system::error_code& /*error*/) {
                                      // An error shows when it is read.
                                      read_armed_ = false;
                                      readable_ = true;
                                      if (!closed()) {
                                        net_.make_ready(*this);
                                      }
                                    }});
}

void Connection::arm_write() {
  if (write_armed_) {
    return;
  }
  MXKV_ASSERT(!session_->entry().stuck, "the client's silence is noted once");
  write_armed_ = true;
  sent_ns_ = net_.now_ns();
  net_.sending_waits(true);
  session_->entry().stuck = true;
  session_->output().compact();
  socket_.async_wait(Descriptor::wait_write,
                     InPlaceHandler{&write_memory_, [this](const boost::system::error_code& /*error*/) {
                                      write_armed_ = false;
                                      net_.sending_waits(false);
                                      if (!closed()) {
                                        session_->entry().stuck = false;
                                        net_.directory().mark_dirty(session_->entry());
                                      }
                                    }});
}

void Connection::flush() {
  OutputBuffer& output = session_->output();
  std::size_t sent_now = 0;
  std::size_t left = gate_.sendable(output.sent_bytes(), output.unsent_bytes());
  while (left > 0 && !write_armed_) {
    if (sent_now >= kMostSent) {
      net_.make_ready(*this);  // others have their turn first
      return;
    }
    std::array<iovec, kGatheredPieces> pieces;
    msghdr message{};
    message.msg_iov = pieces.data();
    message.msg_iovlen = output.gather(pieces, left);
    const ssize_t sent = ::sendmsg(socket_.native_handle(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      output.consume(static_cast<std::size_t>(sent));
      sent_now += static_cast<std::size_t>(sent);
      left -= static_cast<std::size_t>(sent);
      NetCounters::add(net_.counters().written_bytes, static_cast<std::uint64_t>(sent));
      sent_ns_ = net_.now_ns();
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      arm_write();
    } else if (errno != EINTR) {
      close();
      return;
    }
  }
}

void Connection::flush_and_arm() {
  MXKV_ASSERT(!closed(), "a closed connection has nothing to send");
  if (session_->entry().phase == connection_phase::silenced) [[unlikely]] {
    close_for_output();
    return;
  }
  if (net_.disk() != nullptr) [[unlikely]] {
    mark_output();
  }
  flush();
  if (closed()) {
    return;
  }
  session_->end_round();
  if (session_->paused_for(pause::output)) {
    session_->resume();
  }
  if (session_->finished() && session_->output().unsent_bytes() == 0) {
    close();
    return;
  }
  arm();
}

void Connection::resume() {
  MXKV_ASSERT(!closed(), "a closed connection waits for no operation");
  session_->resume();
  net_.directory().mark_dirty(session_->entry());
}

void Connection::give_room() {
  MXKV_ASSERT(!closed(), "a closed connection waits in no list");
  session_->give_room();
  net_.directory().mark_dirty(session_->entry());
}

void Connection::drain() {
  MXKV_ASSERT(!closed(), "a closed connection is in no list");
  if (stage_ == connection_stage::serving) {
    stage_ = connection_stage::draining;
    drain_reads_left_ = kDrainReads;
    readable_ = true;
    net_.make_ready(*this);
  }
}

void Connection::check_times(std::uint64_t now_ns) {
  MXKV_ASSERT(!closed(), "a closed connection has no times");
  constexpr std::uint64_t kNsPerMs = 1'000'000;
  const config::LimitOptions& limits = net_.limits();
  if (!session_->wants_input() || gate_.holds()) {
    unread_ns_ = now_ns;
  }
  if (write_armed_ && session_->unsent_bytes() >= limits.output_high_water &&
      now_ns - sent_ns_ >= limits.output_stall_ms * kNsPerMs) {
    NetCounters::add(net_.counters().stalled);
    close();
  } else if (limits.idle_timeout_ms != 0 && !session_->watches() &&
             session_->entry().order.in_flight() == 0 && session_->unsent_bytes() == 0 && !gate_.holds() &&
             now_ns - read_ns_ >= limits.idle_timeout_ms * kNsPerMs) {
    NetCounters::add(net_.counters().idle_closed);
    close();
  }
}

bool Connection::takes_nothing(std::uint64_t now_ns) const noexcept {
  return write_armed_ && now_ns - sent_ns_ >= kIdleWhereShortNs;
}

bool Connection::sends_nothing(std::uint64_t now_ns) const noexcept {
  const std::uint64_t since = std::max(read_ns_.load(std::memory_order_relaxed), unread_ns_);
  return session_->wants_input() && now_ns - since >= kIdleWhereShortNs;
}

void Connection::close_for_output() {
  MXKV_ASSERT(!closed(), "a connection is counted once");
  NetCounters::add(net_.counters().output_full);
  close();
}

void Connection::close_for_input() {
  MXKV_ASSERT(!closed() && !session_->running(), "no session is refused in the middle of its input");
  session_->refuse_input();
  net_.refused_input();
}

void Connection::close() {
  if (closed()) {
    return;
  }
  stage_ = connection_stage::closed;
  net_.leave_gate(*this, gate_.holds(), session_->paused_for(pause::journal));
  net_.unlist(*this);
  session_.reset();
  boost::system::error_code ignored;
  socket_.close(ignored);  // ends the waits; their handlers run in a later round
  net_.delete_later(*this);
}

}  // namespace mxkv::server
