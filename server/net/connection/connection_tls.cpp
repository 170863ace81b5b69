// Connection's functions for the beginning and the end of TLS, if its listener has it.
//
// The session gets no bytes before the handshake has ended. A handshake takes memory and time of which the
// client has not paid anything yet. So it begins when the worker's room for handshakes admits it, and a round
// takes few of them. After the handshake, a record that does not come whole is unfinished input.
#include <new>
#include <string>

#include "protocol/reply.hpp"
#include "runtime/base/assert.hpp"
#include "server/net/connection/connection.hpp"
#include "server/net/connection/connection_host.hpp"

namespace mxkv::server {

// False: it waits for room, or the client speaks no TLS.
bool Connection::begin_tls() {
  switch (socket_.opens()) {
    case ClientSocket::opening::tls:
      break;
    case ClientSocket::opening::nothing:
      socket_.set_readable(false);
      return false;
    case ClientSocket::opening::left:
      close();  // the client only checked whether the port is open
      return false;
    case ClientSocket::opening::other:
      NetCounters::add(net_.counters().handshake_errors);
      net_.host().happenings->note(
          happening::foreign_protocol,
          {.client = client_name(), .text = ": it does not speak TLS, which its listener requires"});
      socket_.refuse(protocol::kWantsTls);
      close();
      return false;
  }
  Admission& handshakes = net_.host().handshakes;
  if (!handshakes.holds(*this)) {
    if (!handshakes.admits(TlsStream::kHandshakeBytes, net_.host().handshake_room()) ||
        !net_.has_tls_room()) {
      handshakes.wait(*this, TlsStream::kHandshakeBytes, net_.now_ns());
      return false;
    }
    begin_handshake();
  }
  try {
    socket_.begin_tls(door_->tls->current());
  } catch (const std::bad_alloc&) {
    NetCounters::add(net_.counters().handshake_errors);
    close();
    return false;
  }
  return true;
}

// The connection has its place in the room, though its first turn may still come.
void Connection::begin_handshake() {
  net_.host().handshakes.take(*this, TlsStream::kHandshakeBytes);
  unread_ns_ = net_.now_ns();
}

bool Connection::idles_with_tls(std::uint64_t now_ns) const noexcept {
  return socket_.facts() != nullptr && is(life_stage::serving) && !door_->peer && taker_ == nullptr &&
         !session_->state().is(session_state::watch) && session_->entry().order.in_flight() == 0 &&
         session_->unsent_bytes() == 0 && !held_.holds() && sends_nothing(now_ns);
}

void Connection::shake_hands() {
  MXKV_ASSERT(is(life_stage::greeting), "hands are shaken once");
  if (!socket_.readable() || (!socket_.speaks_tls() && !begin_tls())) {
    return;
  }
  socket_.set_readable(false);
  switch (socket_.shake_hands()) {
    case ClientSocket::outcome::done:
      session_->entry().life.end_greeting();
      client_.read_ns.store(net_.now_ns(), std::memory_order_relaxed);
      net_.host().handshakes.give(*this);
      socket_.end_handshake();
      net_.shook_hands(client_, socket_.facts());
      break;
    case ClientSocket::outcome::wants_input:
      break;
    case ClientSocket::outcome::wants_output:
      await_output();
      break;
    case ClientSocket::outcome::ended:
    case ClientSocket::outcome::failed:
      give_up_handshake(socket_.reason().empty() ? "the client left" : socket_.reason());
      break;
  }
}

// A client whose handshake waits for room stays readable: admitted() makes it ready.
bool Connection::settle_greeting() {
  if (!socket_.readable()) {
    return true;
  }
  if (!socket_.speaks_tls() && !net_.host().handshakes.holds(*this)) {
    return false;
  }
  net_.make_ready(*this);
  return true;
}

// Both reading and the handshake may wait for output, more than once.
void Connection::await_output() {
  if (!output_waits_) {
    begin_output_wait();
  }
}

void Connection::give_up_handshake(const std::string& why) {
  NetCounters::add(net_.counters().handshake_errors);
  net_.host().happenings->note(happening::failed_handshake, {.client = client_name(), .text = ": " + why});
  close();
}

void Connection::leave_tls() {
  if (socket_.facts() != nullptr) {
    net_.ended_tls();
    return;
  }
  net_.shakes_hands_no_more();
  net_.host().handshakes.forget(*this);
  net_.host().handshakes.give(*this);
}

}  // namespace mxkv::server
