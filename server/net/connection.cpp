#include "server/net/connection.hpp"

#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>
#include <utility>

#include "runtime/base/assert.hpp"
#include "runtime/base/probe.hpp"
#include "server/net/net_worker.hpp"
#include "server/net/tls_stream.hpp"

namespace mxkv::server {

namespace {
constexpr std::size_t kGatheredPieces = 64;
/// Reads of a connection that is drained: a client that never stops sending must not hold up the end.
constexpr std::uint32_t kDrainReads = 64;
/// Bytes that one connection sends in a round, about.
constexpr std::size_t kMostSent = std::size_t{512} << 10U;
/// Where memory is short, a client that did nothing for so long has to go.
constexpr std::uint64_t kIdleWhereShortNs = 1'000'000'000;

// Most replies are one piece, for which the kernel has less to copy and to check.
ssize_t send_pieces(int socket, std::span<iovec> pieces) noexcept {
  constexpr int kFlags = MSG_NOSIGNAL | MSG_DONTWAIT;
  if (pieces.size() == 1) [[likely]] {
    return ::send(socket, pieces[0].iov_base, pieces[0].iov_len, kFlags);
  }
  msghdr message{};
  message.msg_iov = pieces.data();
  message.msg_iovlen = pieces.size();
  return ::sendmsg(socket, &message, kFlags);
}

}  // namespace

// The entry in the directory, and its counts, had others before.
Connection::Connection(NetWorker& net, int socket, const Door& door)
    : net_(net),
      door_(&door),
      socket_(socket),
      client_(net.client_of(socket)),
      session_(std::in_place, net.host(), *this, door.asks_login && !door.peer),
      stage_(door.tls == nullptr ? connection_stage::serving : connection_stage::greeting),
      judged_(session_->output().end()) {
  client_.read_ns.store(net.now_ns(), std::memory_order_relaxed);
  session_->entry().descriptor.store(socket, std::memory_order_relaxed);
  tell_watchers({});
  session_->entry().by_peer = door.peer;
  session_->entry().takes_stale = door.takes_stale;
  session_->meter(door.peer ? nullptr : client_.usage.get());
  session_->show_last(client_.last);
  client_.worker.store(net_.host().worker.id().value(), std::memory_order_relaxed);
  MXKV_PROBE1(connection_open, socket_);
  note_work();
}

Connection::~Connection() {
  MXKV_ASSERT(deletable(), "a connection is closed, and in no list, before it goes");
}

// A session that is paused is read when it goes on.
void Connection::became_ready(Readiness now) {
  MXKV_ASSERT(!closed(), "a closed socket is not told of");
  if (now.input && (stage_ != connection_stage::draining || drain_reads_left_ > 0)) {
    readable_ = true;
    read_on_ = read_on_ || now.read_on;
    if (session_->wants_input()) {
      net_.make_ready(*this);
    }
  }
  if (now.output && output_waits_) [[unlikely]] {
    end_output_wait();
  }
}

void Connection::take_turn() {
  MXKV_ASSERT(!closed(), "a closed connection has no turn");
  if (stage_ == connection_stage::greeting) [[unlikely]] {
    shake_hands();
    return;
  }
  if (session_->output().unsent_bytes() > 0 && !output_waits_) [[unlikely]] {
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
  if (tls_ != nullptr) [[unlikely]] {
    read_tls();
    return;
  }
  const std::span<char> buffer = net_.read_buffer().first(net_.most_read());
  const std::span<char> space = session_->value_space();
  std::array<iovec, 2> into{iovec{space.data(), space.size()}, iovec{buffer.data(), buffer.size()}};
  const std::size_t most = space.size() + buffer.size();
  const ssize_t got = space.empty() ? ::recv(socket_, buffer.data(), buffer.size(), 0)
                                    : ::readv(socket_, into.data(), into.size());
  if (got > 0) {
    const auto bytes = static_cast<std::size_t>(got);
    readable_ = bytes == most || read_on_;  // read on only if there may be more
    take_bytes(bytes, std::min(bytes, space.size()));
    return;
  }
  readable_ = got < 0 && errno == EINTR;
  if (got == 0) {
    session_->end_of_input();
    net_.directory().mark_dirty(session_->entry());
  } else if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
    close();  // reset by the client, as a rule: no reply would reach it
  }
}

// `direct` of the bytes are in the session's value already, the others in the read buffer.
void Connection::take_bytes(std::size_t bytes, std::size_t direct) {
  client_.read_ns.store(net_.now_ns(), std::memory_order_relaxed);
  session_->entry().read_bytes += bytes;
  NetCounters::add(client_.read_bytes, bytes);
  NetCounters::add(net_.counters().read_bytes, bytes);
  if (direct > 0) {
    session_->received_value(direct);
  }
  if (net_.log().tells_trace() && direct == 0) [[unlikely]] {
    trace_request({net_.read_buffer().data(), bytes});
  }
  if (bytes > direct) {
    session_->receive(net_.read_buffer().data(), bytes - direct, NetWorker::kReadHeadroom);
  }
  session_->charge_input();
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

// What the connection waits for next, if anything but its client.
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
    }
  }
}

void Connection::begin_output_wait() {
  MXKV_ASSERT(!output_waits_ && !session_->entry().stuck, "the client's silence is noted once");
  output_waits_ = true;
  sent_ns_ = net_.now_ns();
  net_.sending_waits(true);
  session_->entry().stuck = true;
  session_->output().compact();
  net_.events().watch_output(socket_, *this, true);
}

void Connection::end_output_wait() {
  output_waits_ = false;
  net_.sending_waits(false);
  readable_ = readable_ || door_->tls != nullptr;  // reading may have waited for it
  session_->entry().stuck = false;
  net_.events().watch_output(socket_, *this, false);
  net_.directory().mark_dirty(session_->entry());
}

void Connection::note_sent(std::size_t bytes) {
  session_->output().consume(bytes);
  NetCounters::add(net_.counters().written_bytes, bytes);
  NetCounters::add(client_.written_bytes, bytes);
  sent_ns_ = net_.now_ns();
}

void Connection::flush() {
  OutputBuffer& output = session_->output();
  std::size_t sent_now = 0;
  std::size_t left = gate_.sendable(output.sent_bytes(), output.unsent_bytes());
  while (left > 0 && !output_waits_) {
    if (sent_now >= kMostSent) {
      net_.make_ready(*this);  // others have their turn first
      return;
    }
    if (tls_ != nullptr) [[unlikely]] {
      const std::size_t sent = send_record(left);
      if (sent == 0) {
        return;
      }
      note_sent(sent);
      sent_now += sent;
      left -= sent;
      continue;
    }
    std::array<iovec, kGatheredPieces> pieces;
    const ssize_t sent = send_pieces(socket_, std::span{pieces}.first(output.gather(pieces, left)));
    if (sent >= 0) {
      note_sent(static_cast<std::size_t>(sent));
      sent_now += static_cast<std::size_t>(sent);
      left -= static_cast<std::size_t>(sent);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      begin_output_wait();
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
  if (session_->entry().phase == connection_phase::cut) [[unlikely]] {
    close();
    return;
  }
  if (net_.disk() != nullptr) [[unlikely]] {
    mark_output();
  }
  flush();
  if (closed()) {
    return;
  }
  client_.requests.store(requests_before_ + session_->requests(), std::memory_order_relaxed);
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

bool Connection::judged() {
  if (!session_->login_judged()) {
    return false;
  }
  session_->judged();
  net_.directory().mark_dirty(session_->entry());
  return true;
}

bool Connection::rate_has_room() {
  if (!session_->rate_has_room()) {
    return false;
  }
  net_.directory().mark_dirty(session_->entry());
  return true;
}

bool Connection::review() {
  session_->meter(door_->peer ? nullptr : client_.usage.get());
  if (session_->user_stays()) {
    return false;
  }
  close();
  return true;
}

void Connection::tell_watchers(std::string_view reason) {
  const SessionHost& host = net_.host();
  if (net_.log().tells_debug()) [[unlikely]] {
    net_.log().tell_debug(reason.empty() ? "opened " + client_.peer
                                         : "closed " + client_.peer + ": " + std::string{reason});
  }
  if (host.watch_hub != nullptr && host.watch_hub->wants(watched::kConnections)) [[unlikely]] {
    host.watch_hub->connection(host.worker, client_.peer, reason, socket_);
  }
}

// One line of a read, cut, and only where a request begins: nothing of values or passwords.
void Connection::trace_request(std::string_view bytes) {
  constexpr std::size_t kMostTold = 100;
  constexpr unsigned char kLastOfText = 0x7F;
  if (session_->state() == session_state::line && !bytes.empty() &&
      static_cast<unsigned char>(bytes.front()) <= kLastOfText) {
    const std::string_view line = bytes.substr(0, bytes.find_first_of("\r\n"));
    net_.log().tell_trace(client_.peer + " sent " + std::to_string(bytes.size()) +
                          " bytes: " + std::string{line.substr(0, kMostTold)});
  }
}

bool Connection::take_name(std::string_view name) {
  return net_.clients().set_name(client_, name);
}

void Connection::logged_in(const std::string& user) {
  net_.clients().set_user(client_, user);
}

void Connection::drain() {
  MXKV_ASSERT(!closed(), "a closed connection is in no list");
  if (stage_ == connection_stage::greeting) {
    close();
  } else if (stage_ == connection_stage::serving) {
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
  if (stage_ == connection_stage::greeting) {
    if (now_ns - client_.read_ns.load(std::memory_order_relaxed) >= limits.handshake_ms * kNsPerMs) {
      give_up_handshake("not finished in time");
    }
    return;
  }
  if (!session_->wants_input() || gate_.holds()) {
    unread_ns_ = now_ns;
  }
  if (output_waits_ && session_->unsent_bytes() >= limits.output_high_water &&
      now_ns - sent_ns_ >= limits.output_stall_ms * kNsPerMs) {
    NetCounters::add(net_.counters().stalled);
    net_.host().happenings->note(happening::closed_unread, client_name());
    close();
  } else if (limits.idle_timeout_ms != 0 && !door_->peer && !session_->watches() &&
             !session_->pauses().has(pause::login | pause::rate) &&
             session_->entry().order.in_flight() == 0 && session_->unsent_bytes() == 0 && !gate_.holds() &&
             now_ns - client_.read_ns.load(std::memory_order_relaxed) >= limits.idle_timeout_ms * kNsPerMs) {
    NetCounters::add(net_.counters().idle_closed);
    net_.host().happenings->note(happening::closed_idle, client_name());
    close();
  }
}

bool Connection::takes_nothing(std::uint64_t now_ns) const noexcept {
  return output_waits_ && now_ns - sent_ns_ >= kIdleWhereShortNs;
}

bool Connection::sends_nothing(std::uint64_t now_ns) const noexcept {
  const std::uint64_t since = std::max(client_.read_ns.load(std::memory_order_relaxed), unread_ns_);
  return session_->wants_input() && now_ns - since >= kIdleWhereShortNs;
}

void Connection::close_for_output() {
  MXKV_ASSERT(!closed(), "a connection is counted once");
  NetCounters::add(net_.counters().output_full);
  close();
}

void Connection::close_for_input() {
  MXKV_ASSERT(!closed() && !session_->running(), "no session is refused in the middle of its input");
  if (stage_ == connection_stage::greeting) {
    net_.refused_input();
    give_up_handshake("there is no memory to wait for the rest of it");
    return;
  }
  session_->refuse_input();
  net_.refused_input();
}

void Connection::close() {
  if (closed()) {
    return;
  }
  stage_ = connection_stage::closed;
  if (taker_ != nullptr) {
    net_.leaves_no_more(*this);
  }
  tell_watchers("normal");
  net_.leave_gate(*this, gate_.holds(), session_->paused_for(pause::journal));
  net_.unlist(*this);
  if (output_waits_.exchange(false)) {
    net_.sending_waits(false);
  }
  const bool said_all = session_->output().unsent_bytes() == 0;
  session_.reset();
  if (door_->tls != nullptr) [[unlikely]] {
    end_tls(said_all);
  }
  net_.clients().close(socket_);
  MXKV_PROBE1(connection_close, socket_);
  ::close(socket_);  // nothing is told of it any more
  net_.delete_later(*this);
}

}  // namespace mxkv::server
