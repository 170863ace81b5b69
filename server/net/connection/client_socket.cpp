#include "server/net/connection/client_socket.hpp"

#include <poll.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "runtime/base/probe.hpp"
#include "runtime/scheduler/runtime.hpp"
#include "server/net/connection/connection_host.hpp"

namespace mxkv::server {

namespace {
constexpr std::size_t kPiecesOfRecord = 64;
}  // namespace

ClientSocket::ClientSocket(ConnectionHost& net, MovedSocket moved)
    : net_(net),
      descriptor_(std::exchange(moved.descriptor, -1)),
      readable_(true),
      read_on_(moved.read_on),
      tls_(std::move(moved.tls)),
      facts_(std::move(moved.facts)) {
  if (tls_ != nullptr) {
    hold(moved.held_bytes, moved.own_bytes);
  }
}

void ClientSocket::hold(std::size_t record, std::size_t own) {
  runtime::MemoryBudget& budget = net_.host().worker.runtime().budget();
  MemoryShare& share = net_.host().input.share();
  budget.refund(runtime::memory_category::buffers, held_ + own_);
  share.give(held_);
  held_ = record;
  own_ = own;
  share.take(held_);
  budget.charge_unconditionally(runtime::memory_category::buffers, held_ + own_);
}

void ClientSocket::keep_buffers(bool comes) {
  if (place.taken()) [[likely]] {
    if (comes) {
      place.use();
    }
    return;
  }
  // Counts the buffers that another socket gives back for this one. If more sockets are busy than may keep
  // buffers, that happens each time.
  const std::size_t given = net_.keep_tls_buffers(*this);
  const std::size_t taken = TlsStream::kIdleBytes + TlsStream::kBuffersBytes - own_;
  own_ += taken;
  runtime::MemoryBudget& budget = net_.host().worker.runtime().budget();
  if (taken > given) {
    budget.charge_unconditionally(runtime::memory_category::buffers, taken - given);
  } else if (given > taken) {
    budget.refund(runtime::memory_category::buffers, given - taken);
  }
}

std::size_t ClientSocket::give_buffers() {
  return tls_->give_buffers() ? std::exchange(own_, TlsStream::kIdleBytes) - TlsStream::kIdleBytes : 0;
}

void ClientSocket::leave_buffers() {
  if (place.taken()) {
    net_.keeps_no_tls_buffers(*this);
  }
}

ClientSocket::opening ClientSocket::opens() const noexcept {
  constexpr unsigned char kHandshakeRecord = 0x16;
  unsigned char byte = 0;
  const ssize_t got = ::recv(descriptor_, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  if (got == 1) {
    return byte == kHandshakeRecord ? opening::tls : opening::other;
  }
  return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) ? opening::nothing
                                                                                : opening::left;
}

void ClientSocket::refuse(std::string_view line) noexcept {
  static_cast<void>(::send(descriptor_, line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
  ::shutdown(descriptor_, SHUT_WR);
}

void ClientSocket::begin_tls(std::shared_ptr<const TlsContext> context) {
  MXKV_ASSERT(tls_ == nullptr, "TLS begins once");
  tls_ = std::make_unique<TlsStream>(std::move(context), descriptor_);
  hold(0, TlsStream::kHandshakeBytes);
}

void ClientSocket::end_handshake() {
  MXKV_ASSERT(facts_ == nullptr, "a handshake ends once");
  hold(0, TlsStream::kIdleBytes);
  keep_buffers(false);
  facts_ = std::make_shared<const TlsFacts>(tls_->facts());
  readable_ = true;  // requests may have come with the last bytes of the handshake
}

// Reads once, like read() on a socket: all bytes that have come, as far as there is room. The next call finds
// more bytes, or an end, because the stream remembers it.
ClientSocket::Taken ClientSocket::take_by_tls(std::span<char> space, std::span<char> buffer) {
  keep_buffers(true);
  const Moved direct = space.empty() ? Moved{0, outcome::done} : tls_->read(space, read_on_);
  const Moved rest = direct.how == outcome::done ? tls_->read(buffer, read_on_) : direct;
  const std::size_t bytes = direct.bytes + (direct.how == outcome::done ? rest.bytes : 0);
  hold_record();
  readable_ = bytes > 0 && rest.how != outcome::wants_input;
  return {bytes, direct.bytes, bytes > 0 ? outcome::done : rest.how};
}

// wants_input never happens without renegotiation.
ClientSocket::Moved ClientSocket::give_by_tls(const OutputBuffer& output, std::size_t left) {
  static_assert(ConnectionHost::kReadBytes >= TlsStream::kRecordBytes, "the read buffer takes a record");
  keep_buffers(false);
  const Moved sent = tls_->write(next_record(output, left));
  return sent.how == outcome::done || sent.how == outcome::wants_output ? sent : Moved{0, outcome::failed};
}

// One piece is sent from where it lies. Several pieces are copied into one record, so that the socket gets
// one segment.
std::span<const char> ClientSocket::next_record(const OutputBuffer& output, std::size_t most) {
  std::array<iovec, kPiecesOfRecord> pieces;
  const std::size_t count = output.gather(pieces, std::min(most, TlsStream::kRecordBytes));
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

void ClientSocket::give_line(std::string_view line) {
  if (tls_ != nullptr) {
    keep_buffers(false);
    static_cast<void>(tls_->write(line));
  } else {
    static_cast<void>(::send(descriptor_, line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
  }
}

bool ClientSocket::ended() {
  if (tls_ == nullptr) {
    char byte = 0;
    return ::recv(descriptor_, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
  }
  keep_buffers(true);
  const bool ended = tls_->ends_now();
  hold_record();
  return ended;
}

bool ClientSocket::hung_up() const noexcept {
  pollfd both_ways{.fd = descriptor_, .events = 0, .revents = 0};
  return ::poll(&both_ways, 1, 0) == 1 && (both_ways.revents & (POLLHUP | POLLERR)) != 0;
}

MovedSocket ClientSocket::leave() {
  MovedSocket moved;
  if (place.taken()) {
    leave_buffers();
    net_.host().worker.runtime().budget().refund(runtime::memory_category::buffers, give_buffers());
  }
  moved.held_bytes = held_;
  moved.own_bytes = own_;
  hold(0, 0);
  moved.tls = std::move(tls_);
  moved.facts = std::move(facts_);
  moved.read_on = read_on_;
  moved.descriptor = std::exchange(descriptor_, -1);
  return moved;
}

void ClientSocket::close(bool said_all) {
  if (tls_ != nullptr) [[unlikely]] {
    if (said_all) {
      tls_->end();
    }
    leave_buffers();
    hold(0, 0);
    tls_.reset();
    net_.freed_tls();
  }
  MXKV_PROBE1(connection_close, descriptor_);
  ::close(std::exchange(descriptor_, -1));  // epoll forgets a closed socket
}

}  // namespace mxkv::server
