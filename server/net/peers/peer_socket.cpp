#include "server/net/peers/peer_socket.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace mxkv::server {

bool PeerSocket::open(const PeerAddress& to) noexcept {
  const int on = 1;
  socket_ = ::socket(to.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  return is_open() && ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0;
}

void PeerSocket::close() noexcept {
  tls_.reset();
  if (is_open()) {
    ::close(std::exchange(socket_, -1));
  }
}

PeerSocket::outcome PeerSocket::connect(const PeerAddress& to) noexcept {
  if (::connect(socket_, reinterpret_cast<const sockaddr*>(&to.storage), to.bytes) == 0) {
    return outcome::done;
  }
  return errno == EINPROGRESS ? outcome::wants_output : outcome::failed;
}

bool PeerSocket::has_connected() const noexcept {
  int error = 0;
  socklen_t bytes = sizeof error;
  return ::getsockopt(socket_, SOL_SOCKET, SO_ERROR, &error, &bytes) == 0 && error == 0;
}

void PeerSocket::secure(std::shared_ptr<const TlsContext> context) {
  tls_ = std::make_unique<TlsStream>(std::move(context), socket_, tls_side::connects);
}

// A short plain read has emptied the socket, unless `read_on` says that more may be there.
PeerSocket::Moved PeerSocket::read(std::span<char> into, bool read_on) {
  if (tls_ != nullptr) {
    return tls_->read(into, read_on);
  }
  ssize_t got = -1;
  while ((got = ::recv(socket_, into.data(), into.size(), MSG_DONTWAIT)) < 0 && errno == EINTR) {
  }
  if (got > 0) {
    const auto bytes = static_cast<std::size_t>(got);
    return {bytes, read_on || bytes == into.size() ? outcome::done : outcome::wants_input};
  }
  const bool empty = got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
  return {0, empty ? outcome::wants_input : got == 0 ? outcome::ended : outcome::failed};
}

PeerSocket::Moved PeerSocket::write(std::string_view bytes) {
  if (tls_ != nullptr) {
    return tls_->write(bytes.substr(0, TlsStream::kRecordBytes));
  }
  ssize_t sent = -1;
  while ((sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT)) < 0 &&
         errno == EINTR) {
  }
  if (sent >= 0) {
    return {static_cast<std::size_t>(sent), outcome::done};
  }
  return {0, errno == EAGAIN || errno == EWOULDBLOCK ? outcome::wants_output : outcome::failed};
}

// TLS may have bytes to read that are no answer, such as tickets.
bool PeerSocket::has_ended() {
  char byte = 0;
  if (tls_ != nullptr) {
    const Moved got = tls_->read({&byte, 1}, true);
    return got.bytes > 0 || got.how == outcome::ended || got.how == outcome::failed;
  }
  const ssize_t got = ::recv(socket_, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

}  // namespace mxkv::server
