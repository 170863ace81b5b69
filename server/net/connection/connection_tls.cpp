// Connection's functions for TLS, if its listener has it.
//
// The session gets no bytes before the handshake has ended. A handshake takes memory and time of which the
// client has not paid anything yet. So it begins when the worker's room for handshakes admits it, and a round
// takes few of them. After the handshake, a record that does not come whole is unfinished input.
//
// The busiest connections of a worker keep their OpenSSL buffers: as many as would fit into its share of
// unfinished input, though these buffers are counted separately. To free and allocate them for each record
// would cost a twelfth of OpenSSL's time.
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "protocol/reply.hpp"
#include "runtime/base/assert.hpp"
#include "runtime/scheduler/runtime.hpp"
#include "server/net/connection/connection.hpp"
#include "server/net/connection/connection_host.hpp"
#include "server/net/tls/tls_stream.hpp"

namespace mxkv::server {

namespace {

constexpr unsigned char kHandshakeRecord = 0x16;
constexpr std::size_t kPiecesOfRecord = 64;

enum class opening : std::uint8_t { nothing, tls, other, left };

/// What the client's first byte shows.
opening opening_of(int socket) noexcept {
  unsigned char byte = 0;
  const ssize_t got = ::recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  if (got == 1) {
    return byte == kHandshakeRecord ? opening::tls : opening::other;
  }
  return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) ? opening::nothing
                                                                                : opening::left;
}

}  // namespace

// Counts the memory of TLS. A record that has not come whole counts as unfinished input.
void Connection::hold(std::size_t record, std::size_t own) {
  runtime::MemoryBudget& budget = net_.host().worker.runtime().budget();
  MemoryShare& share = net_.host().input.share();
  budget.refund(runtime::memory_category::buffers, tls_held_ + tls_own_);
  share.give(tls_held_);
  tls_held_ = record;
  tls_own_ = own;
  share.take(tls_held_);
  budget.charge_unconditionally(runtime::memory_category::buffers, tls_held_ + tls_own_);
}

void Connection::keep_buffers(bool comes) {
  if (place.taken()) [[likely]] {
    if (comes) {
      place.use();
    }
    return;
  }
  // Counts the buffers that another connection gives back for this one. If more connections are busy than may
  // keep buffers, that happens each time.
  const std::size_t given = net_.keep_tls_buffers(*this);
  const std::size_t taken = TlsStream::kIdleBytes + TlsStream::kBuffersBytes - tls_own_;
  tls_own_ += taken;
  runtime::MemoryBudget& budget = net_.host().worker.runtime().budget();
  if (taken > given) {
    budget.charge_unconditionally(runtime::memory_category::buffers, taken - given);
  } else if (given > taken) {
    budget.refund(runtime::memory_category::buffers, given - taken);
  }
}

// Buffers with bytes in them stay, and stay counted for this connection.
std::size_t Connection::give_buffers() {
  return tls_->give_buffers() ? std::exchange(tls_own_, TlsStream::kIdleBytes) - TlsStream::kIdleBytes : 0;
}

// False: it waits for room, or the client speaks no TLS.
bool Connection::begin_tls() {
  const opening begins = opening_of(socket_);
  if (begins == opening::nothing) {
    readable_ = false;
    return false;
  }
  if (begins == opening::left) {
    close();  // the client only checked whether the port is open
    return false;
  }
  if (begins == opening::other) {
    NetCounters::add(net_.counters().handshake_errors);
    net_.host().happenings->note(happening::foreign_protocol,
                                 client_name() + ": it does not speak TLS, which its listener requires");
    static_cast<void>(
        ::send(socket_, protocol::kWantsTls.data(), protocol::kWantsTls.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
    ::shutdown(socket_, SHUT_WR);
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
    tls_ = std::make_unique<TlsStream>(door_->tls->current(), socket_);
  } catch (const std::bad_alloc&) {
    NetCounters::add(net_.counters().handshake_errors);
    close();
    return false;
  }
  hold(0, TlsStream::kHandshakeBytes);
  return true;
}

// The connection has its place in the room, though its first turn may still come.
void Connection::begin_handshake() {
  net_.host().handshakes.take(*this, TlsStream::kHandshakeBytes);
  unread_ns_ = net_.now_ns();
}

bool Connection::idles_with_tls(std::uint64_t now_ns) const noexcept {
  return tls_facts_ != nullptr && is(life_stage::serving) && !door_->peer && taker_ == nullptr &&
         !readable_ && !session_->state().is(session_state::watch) &&
         session_->entry().order.in_flight() == 0 && session_->unsent_bytes() == 0 && !gate_.holds() &&
         sends_nothing(now_ns);
}

void Connection::shake_hands() {
  MXKV_ASSERT(is(life_stage::greeting), "hands are shaken once");
  if (!readable_ || (tls_ == nullptr && !begin_tls())) {
    return;
  }
  readable_ = false;
  switch (tls_->shake_hands(read_on_)) {
    case TlsStream::outcome::done:
      session_->entry().life.end_greeting();
      client_.read_ns.store(net_.now_ns(), std::memory_order_relaxed);
      net_.host().handshakes.give(*this);
      hold(0, TlsStream::kIdleBytes);
      keep_buffers(false);
      net_.shook_hands(*this);
      readable_ = true;  // requests may have come with the last bytes of the handshake
      break;
    case TlsStream::outcome::wants_input:
      break;
    case TlsStream::outcome::wants_output:
      await_output();
      break;
    case TlsStream::outcome::ended:
    case TlsStream::outcome::failed:
      give_up_handshake(tls_->reason().empty() ? "the client left" : tls_->reason());
      break;
  }
}

// A client whose handshake waits for room stays readable: admitted() makes it ready.
bool Connection::settle_greeting() {
  if (!readable_) {
    return true;
  }
  if (tls_ == nullptr && !net_.host().handshakes.holds(*this)) {
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
  net_.host().happenings->note(happening::failed_handshake, client_name() + ": " + why);
  close();
}

// Reads once, like read() on a socket: all bytes that have come, as far as there is room. The next turn finds
// more bytes, or an end, because the stream remembers it.
void Connection::read_tls(Session& session) {
  const std::span<char> buffer = net_.read_buffer().first(net_.most_read());
  const std::span<char> space = session.value_space();
  keep_buffers(true);
  const TlsStream::Moved direct =
      space.empty() ? TlsStream::Moved{0, TlsStream::outcome::done} : tls_->read(space, read_on_);
  const TlsStream::Moved rest =
      direct.how == TlsStream::outcome::done ? tls_->read(buffer, read_on_) : direct;
  const std::size_t bytes = direct.bytes + (direct.how == TlsStream::outcome::done ? rest.bytes : 0);
  if (const std::size_t held = tls_->held_bytes(); held != tls_held_) {
    hold(held, tls_own_);
  }
  if (bytes > 0) {
    readable_ = rest.how != TlsStream::outcome::wants_input;
    take_bytes(session, bytes, direct.bytes);
    return;
  }
  readable_ = false;
  switch (rest.how) {
    case TlsStream::outcome::done:
    case TlsStream::outcome::wants_input:
      break;
    case TlsStream::outcome::wants_output:
      await_output();
      break;
    case TlsStream::outcome::ended:
      session.end_of_input();
      break;
    case TlsStream::outcome::failed:
      close();
      break;
  }
}

bool Connection::tls_ended() {
  keep_buffers(true);
  const bool ended = tls_->ends_now();
  if (const std::size_t held = tls_->held_bytes(); held != tls_held_) {
    hold(held, tls_own_);
  }
  return ended;
}

// One piece is sent from where it lies. Several pieces are copied into one record, so that the socket gets
// one segment.
std::span<const char> Connection::next_record(std::size_t most) {
  std::array<iovec, kPiecesOfRecord> pieces;
  const std::size_t count = session_->output().gather(pieces, std::min(most, TlsStream::kRecordBytes));
  if (count == 1) {
    return {static_cast<const char*>(pieces[0].iov_base), pieces[0].iov_len};
  }
  char* const begin = net_.read_buffer().data();  // nobody reads while the record is sent
  char* end = begin;
  for (const iovec& piece : std::span{pieces}.first(count)) {
    std::memcpy(end, piece.iov_base, piece.iov_len);
    end += piece.iov_len;
  }
  return {begin, end};
}

// Returns the number of bytes sent; 0 if it cannot go on now.
std::size_t Connection::send_record(std::size_t most) {
  static_assert(ConnectionHost::kReadBytes >= TlsStream::kRecordBytes, "the read buffer takes a record");
  keep_buffers(false);
  const TlsStream::Moved sent = tls_->write(next_record(most));
  if (sent.how == TlsStream::outcome::wants_output) {
    begin_output_wait();
  } else if (sent.how != TlsStream::outcome::done) {
    close();  // also if it wants input, which never happens without renegotiation
  }
  return sent.bytes;
}

// Sends the line past the output, whose held bytes are never sent.
void Connection::say_last(std::string_view line) {
  if (tls_ != nullptr) {
    keep_buffers(false);
    static_cast<void>(tls_->write(line));
  } else {
    static_cast<void>(::send(socket_, line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
  }
}

void Connection::end_tls(bool said_all) {
  if (said_all && tls_ != nullptr) {
    tls_->end();
  }
  if (tls_facts_ != nullptr) {
    net_.ended_tls();
  } else {
    net_.shakes_hands_no_more();
    net_.host().handshakes.forget(*this);
    net_.host().handshakes.give(*this);
  }
  if (place.taken()) {
    net_.keeps_no_tls_buffers(*this);
  }
  hold(0, 0);
  if (tls_ != nullptr) {
    tls_.reset();
    net_.freed_tls();
  }
}

}  // namespace mxkv::server
