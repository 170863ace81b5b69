#include "server/net/connection/connection.hpp"

#include <span>
#include <utility>

#include "runtime/base/assert.hpp"
#include "runtime/base/probe.hpp"
#include "server/net/connection/connection_host.hpp"

namespace mxkv::server {

// The directory reuses entries, so the entry's counts may begin above 0.
Connection::Connection(ConnectionHost& net, int socket, const Door& door)
    : net_(net),
      door_(&door),
      socket_(net, socket),
      client_(net.client_of(socket)),
      session_(net.host(), *this, door.asks_login && !door.peer),
      held_(session_->output().end()) {
  if (door.visitor != nullptr && !door.peer) {
    session_.unsettled().let_in_as(*door.visitor);
  }
  if (door.tls != nullptr) {
    session_->entry().life.greet();
  }
  client_.read_ns.store(net.now_ns(), std::memory_order_relaxed);
  session_->entry().descriptor.store(socket, std::memory_order_relaxed);
  tell_watchers({});
  session_->entry().by_peer = door.peer;
  session_->entry().takes_stale = door.takes_stale;
  session_.unsettled().meter(door.peer ? nullptr : client_.usage.get());
  session_.unsettled().show_last(client_.last);
  client_.worker.store(net_.host().worker.id().value(), std::memory_order_relaxed);
  MXKV_PROBE1(connection_open, socket);
  note_work();
}

Connection::~Connection() {
  MXKV_ASSERT(deletable(), "a connection is closed, and in no list, before it goes");
}

// A paused session is read when it goes on.
void Connection::became_ready(Readiness now) {
  MXKV_ASSERT(!closed(), "a closed socket is not told of");
  if (now.input && drain_reads_left_ > 0) {
    socket_.had_input(now.read_on);
    if (session_->wants_input()) {
      net_.make_ready(*this);
    } else {
      note_unread();
    }
  }
  if (now.output && output_waits_) [[unlikely]] {
    end_output_wait();
  }
  if (now.read_on && (now.reset || client_.killed.load(std::memory_order_acquire))) [[unlikely]] {
    reset_ = true;
    static_cast<void>(session_.step());
  }
  if (now.read_on && session_->paused_for(pause::journal)) [[unlikely]] {
    static_cast<void>(session_.step());  // settle() checks whether the client is gone
  }
}

std::size_t Connection::take_turn() {
  MXKV_ASSERT(!closed(), "a closed connection has no turn");
  const std::uint32_t ended = session_->entry().ended;
  give_turn();
  return closed() ? 0 : in_flight() + (session_->entry().ended - ended);
}

void Connection::give_turn() {
  Session& session = session_.step();
  if (is(life_stage::greeting)) [[unlikely]] {
    shake_hands();
    return;
  }
  if (net_.reads_paused()) [[unlikely]] {
    if (!session.paused_for(pause::journal)) {
      session.wait_for_journal();
      net_.wait_for_journal(*this);
    }
    return;
  }
  if (session.tells_more()) [[unlikely]] {
    session.tell();
  }
  if (session.pauses().has(pause::turn | pause::memory)) {
    session.resume();
  }
  if (socket_.readable() && session.wants_input()) {
    read(session);
  }
}

void Connection::read(Session& session) {
  MXKV_ASSERT(session.wants_input(), "bytes are read for a session that takes them");
  session.entry().asked_ns = input_since_ns_ == 0 ? net_.now_ns() : std::exchange(input_since_ns_, 0);
  const ClientSocket::Taken taken =
      socket_.take(session.value_space(), net_.read_buffer().first(net_.most_read()));
  if (taken.bytes > 0) [[likely]] {
    take_bytes(session, taken.bytes, taken.direct);
    return;
  }
  if (taken.how == ClientSocket::outcome::ended) {
    session.end_of_input();
  } else if (taken.how == ClientSocket::outcome::failed) {
    ends_for_ = "error";
    close();  // as a rule the client reset the connection: no reply would reach it
  } else if (taken.how == ClientSocket::outcome::wants_output) {
    await_output();
  }
}

// `direct` of the bytes are already in the session's value, the others in the read buffer.
void Connection::take_bytes(Session& session, std::size_t bytes, std::size_t direct) {
  client_.read_ns.store(net_.now_ns(), std::memory_order_relaxed);
  session.entry().read_bytes += bytes;
  NetCounters::add(client_.read_bytes, bytes);
  NetCounters::add(net_.counters().read_bytes, bytes);
  if (direct > 0) {
    session.received_value(direct);
  }
  if (net_.log().tells_trace() && direct == 0) [[unlikely]] {
    trace_request({net_.read_buffer().data(), bytes});
  }
  if (bytes > direct) {
    session.receive(net_.read_buffer().data(), bytes - direct, ConnectionHost::kReadHeadroom);
  }
  session.charge_input();
  if (session.state().is(session_state::refused)) [[unlikely]] {
    net_.refused_input();
  }
  if (is(life_stage::draining)) {
    MXKV_ASSERT(drain_reads_left_ > 0, "the last read ends the input");
    socket_.set_readable(--drain_reads_left_ != 0);
  }
}

void Connection::begin_output_wait() {
  MXKV_ASSERT(!output_waits_ && !session_->entry().stuck, "the client's silence is noted once");
  output_waits_ = true;
  client_.sends.store(true, std::memory_order_relaxed);
  sent_ns_ = net_.now_ns();
  net_.sending_waits(true);
  session_->entry().stuck = true;
  session_->output().compact();
  net_.events().watch_output(socket_.descriptor(), *this, true);
}

void Connection::end_output_wait() {
  output_waits_ = false;
  client_.sends.store(false, std::memory_order_relaxed);
  net_.sending_waits(false);
  socket_.set_readable(socket_.readable() || door_->tls != nullptr);  // a TLS read may have waited to write
  session_.step().entry().stuck = false;
  net_.events().watch_output(socket_.descriptor(), *this, false);
}

void Connection::note_sent(std::size_t bytes) {
  session_->output().consume(bytes);
  NetCounters::add(net_.counters().written_bytes, bytes);
  NetCounters::add(client_.written_bytes, bytes);
  sent_ns_ = net_.now_ns();
}

void Connection::flush() {
  const std::size_t left = held_.sendable(session_->output());
  if (left > SendTurns::kShort) [[unlikely]] {
    SendTurns& turns = net_.send_turns();
    turns.sent(send(left, turns.allowed()));
  } else {
    static_cast<void>(send(left, left));
  }
}

// Sends about `most` of the first `left` bytes of output. Returns how many were sent.
std::size_t Connection::send(std::size_t left, std::size_t most) {
  std::size_t all = 0;
  while (left > 0 && all < most && !output_waits_) {
    const ClientSocket::Moved sent = socket_.give(session_->output(), left, most - all);
    if (sent.how == ClientSocket::outcome::done) [[likely]] {
      note_sent(sent.bytes);
      all += sent.bytes;
      left -= sent.bytes;
    } else if (sent.how == ClientSocket::outcome::wants_output) {
      begin_output_wait();
    } else {
      close();
      break;
    }
  }
  return all;
}

// Whatever happened in this round, only this function checks whether the connection ends and what it waits
// for.
bool Connection::settle() {
  MXKV_ASSERT(!closed(), "a closed connection has nothing to send");
  Session& session = session_.unsettled();
  if (!session.entry().life.answers()) [[unlikely]] {
    return settle_unanswered(session);
  }
  if (reset_ && over_without_replies()) [[unlikely]] {
    close();
    return true;
  }
  if (net_.disk() != nullptr) [[unlikely]] {
    mark_output();
  }
  flush();
  if (closed()) {
    return true;
  }
  client_.requests.store(requests_before_ + session.requests(), std::memory_order_relaxed);
  session.end_round();
  if (session.paused_for(pause::output)) {
    session.resume();
  }
  if (session.finished() && session.output().unsent_bytes() == 0) {
    close();
    return true;
  }
  return arm();
}

bool Connection::settle_unanswered(Session& session) {
  if (session.entry().life.is(life_stage::silenced)) {
    close_for_output();
    return true;
  }
  if (session.entry().life.is(life_stage::cut) || (reset_ && over_without_replies())) {
    close();
    return true;
  }
  return settle_greeting();
}

// Whether a connection without a reader ends now. A killed client's ends at once. If the client reset its
// connection, requests that came before continue as long as they need nobody else. The end of a wait for
// others, for memory or for the disk may never come, so the connection does not wait for it.
bool Connection::over_without_replies() const noexcept {
  return client_.killed.load(std::memory_order_relaxed) ||
         session_->pauses().has(kUntilTold | pause::memory) || held_.holds() ||
         (is(life_stage::greeting) && !socket_.speaks_tls());
}

// Arranges the next turn, unless the connection waits for its client. Returns false if it only waits for
// memory.
bool Connection::arm() {
  client_.state.store(session_->state().current(), std::memory_order_relaxed);
  if (!output_waits_ && held_.sendable(session_->output()) > 0) [[unlikely]] {
    net_.wait_to_send(*this);  // flush() left some output for its turn
  }
  if (session_->tells_more() && session_->unsent_bytes() < net_.limits().output_high_water) [[unlikely]] {
    net_.make_ready(*this);
  }
  const Pauses pauses = session_->pauses();
  if (pauses.has(kUntilTold)) [[unlikely]] {
    if (pauses.has(pause::journal) && over_unread()) {
      close();
    }
    return true;  // the end of the pause makes the next step
  }
  if (pauses.has(pause::turn)) {
    NetCounters::add(net_.counters().yields);
    net_.make_ready(*this);
  } else if (pauses.has(pause::memory)) {
    net_.wait_for_memory(*this);
    return false;
  } else if (session_->wants_input()) {
    if (socket_.readable()) {
      net_.make_ready(*this);
    } else if (is(life_stage::draining)) {
      session_.step().end_of_input();
    }
  }
  return true;
}

void Connection::resume() {
  go_on().resume();
}

void Connection::admitted() {
  if (is(life_stage::greeting)) {
    begin_handshake();
    net_.make_ready(*this);
  } else {
    go_on().give_room();
  }
}

bool Connection::stalls(std::uint64_t now_ns) const noexcept {
  if (is(life_stage::greeting)) {
    return !socket_.readable() && now_ns - unread_ns_ >= Admission::kStallsNs;
  }
  return sends_nothing(now_ns, Admission::kStallsNs) ||
         (!socket_.readable() && session_->wants_input() && session_->value_is_slow(now_ns));
}

bool Connection::review() {
  Session& session = session_.step();
  session.meter(door_->peer ? nullptr : client_.usage.get());
  if (session.user_stays()) {
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
    host.watch_hub->connection(host.worker, client_.peer, reason, socket_.descriptor());
  }
}

// Logs the first line of a read, shortened, and only if a request begins there, so that no value or password
// is logged.
void Connection::trace_request(std::string_view bytes) {
  constexpr std::size_t kMostTold = 100;
  constexpr unsigned char kLastOfText = 0x7F;
  if (session_->state().expects_line() && !bytes.empty() &&
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
  ConnectionLife& life = session_->entry().life;
  if (life.is(life_stage::greeting)) {
    close();
  } else if (life.is(life_stage::serving) || life.is(life_stage::leaving)) {
    life.drain();
    ends_for_ = "shutdown";
    socket_.set_readable(true);
    net_.make_ready(*this);
  }
}

}  // namespace mxkv::server
