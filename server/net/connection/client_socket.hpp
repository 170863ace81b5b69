// One client's socket, in the clear or by TLS: one call takes bytes, one gives bytes. TLS is in here alone: its
// records, its buffers, and the memory that they take.
//
// The busiest sockets of a worker keep their OpenSSL buffers: as many as would fit into its share of unfinished
// input, though these buffers are counted separately. To free and allocate them for each record would cost a
// twelfth of OpenSSL's time.
#pragma once

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "runtime/base/assert.hpp"
#include "server/net/connection/second_chance.hpp"
#include "server/net/tls/tls_stream.hpp"
#include "server/reply/output_buffer.hpp"

namespace mxkv::server {

class ConnectionHost;

/// A socket on its way to another worker. In no epoll set.
struct MovedSocket {
  int descriptor = -1;
  bool read_on = false;              ///< see Readiness
  std::unique_ptr<TlsStream> tls{};  ///< null: no TLS
  std::shared_ptr<const TlsFacts> facts{};
  std::size_t held_bytes = 0;
  std::size_t own_bytes = 0;
};

/// Thread-safety: owner worker only.
class ClientSocket {
 public:
  using outcome = TlsStream::outcome;
  using Moved = TlsStream::Moved;

  /// What a read brought. An end or a failure comes alone, as in Moved.
  struct [[nodiscard]] Taken {
    std::size_t bytes;
    std::size_t direct;  ///< of these bytes, in the first place that was offered
    outcome how;
  };
  /// What the first byte shows of a client that is to speak TLS.
  enum class opening : std::uint8_t { nothing, tls, other, left };

  /// Takes over `descriptor`, which is non-blocking.
  ClientSocket(ConnectionHost& net, int descriptor) noexcept : net_(net), descriptor_(descriptor) {}
  ClientSocket(ConnectionHost& net, MovedSocket moved);
  ~ClientSocket() { MXKV_ASSERT(descriptor_ < 0, "a socket is closed, or belongs to another worker"); }
  ClientSocket(const ClientSocket&) = delete;
  ClientSocket& operator=(const ClientSocket&) = delete;

  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  /// Whether there may be bytes to take.
  [[nodiscard]] bool readable() const noexcept { return readable_; }
  void set_readable(bool may_be) noexcept { readable_ = may_be; }
  /// The kernel has told of bytes. `read_on`: see Readiness.
  void had_input(bool read_on) noexcept {
    readable_ = true;
    read_on_ = read_on_ || read_on;
  }
  /// Whether to read on, even after a short read: an end may follow.
  [[nodiscard]] bool reads_on() const noexcept { return read_on_; }

  /// Fills `space` first, then `buffer`, with the bytes that have come, and decides whether the socket stays
  /// readable(). wants_input: none were there.
  Taken take(std::span<char> space, std::span<char> buffer) {
    if (tls_ != nullptr) [[unlikely]] {
      return take_by_tls(space, buffer);
    }
    std::array<iovec, 2> into{iovec{space.data(), space.size()}, iovec{buffer.data(), buffer.size()}};
    const std::size_t most = space.size() + buffer.size();
    const ssize_t got = space.empty() ? ::recv(descriptor_, buffer.data(), buffer.size(), 0)
                                      : ::readv(descriptor_, into.data(), into.size());
    if (got > 0) {
      const auto bytes = static_cast<std::size_t>(got);
      readable_ = bytes == most || read_on_;  // read on only if there may be more bytes
      return {bytes, std::min(bytes, space.size()), outcome::done};
    }
    readable_ = got < 0 && errno == EINTR;
    if (got == 0) {
      return {0, 0, outcome::ended};
    }
    return {
        0, 0,
        errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? outcome::wants_input : outcome::failed};
  }
  /// Sends some of the first `left` bytes of `output`, about `most` at most. done without bytes: try again.
  /// TLS has all that is left to choose a record from, because a record that the socket did not take must be
  /// tried again at its full length.
  Moved give(const OutputBuffer& output, std::size_t left, std::size_t most) {
    if (tls_ != nullptr) [[unlikely]] {
      return give_by_tls(output, left);
    }
    std::array<iovec, kGatheredPieces> pieces;
    const std::size_t count = output.gather(pieces, std::min(left, most));
    const ssize_t sent = send_pieces(std::span{pieces}.first(count));
    if (sent >= 0) {
      return {static_cast<std::size_t>(sent), outcome::done};
    }
    if (errno == EINTR) {
      return {0, outcome::done};
    }
    return {0, errno == EAGAIN || errno == EWOULDBLOCK ? outcome::wants_output : outcome::failed};
  }
  /// Sends a line past the output, if the socket takes it at once.
  void give_line(std::string_view line);
  /// Whether the client has ended its input and all of it was taken.
  [[nodiscard]] bool ended();
  /// Whether the client has closed both ways of a unix socket, or reset the connection.
  [[nodiscard]] bool hung_up() const noexcept;

  // --- TLS ---

  [[nodiscard]] bool speaks_tls() const noexcept { return tls_ != nullptr; }
  /// Null: no TLS, or the handshake is not done.
  [[nodiscard]] const std::shared_ptr<const TlsFacts>& facts() const noexcept { return facts_; }
  [[nodiscard]] opening opens() const noexcept;
  /// Ends the sending side behind a line in the clear.
  void refuse(std::string_view line) noexcept;
  /// Throws std::bad_alloc.
  void begin_tls(std::shared_ptr<const TlsContext> context);
  [[nodiscard]] outcome shake_hands() { return tls_->shake_hands(read_on_); }
  /// Why the handshake failed; empty: the client left.
  [[nodiscard]] const std::string& reason() const noexcept { return tls_->reason(); }
  /// The handshake is done: facts() are known from now on.
  void end_handshake();
  /// Bytes held of a record that has not come whole.
  [[nodiscard]] std::size_t held_bytes() const noexcept { return held_; }
  /// Gives its buffers back. Returns how many bytes they took; the caller refunds the memory budget. Buffers
  /// with bytes in them stay, and stay counted for this socket.
  [[nodiscard]] std::size_t give_buffers();
  /// Its place among the worker's sockets that keep their TLS buffers.
  SecondChancePlace place;

  // --- Its end ---

  /// Everything that another worker needs of it.
  [[nodiscard]] MovedSocket leave();
  /// `said_all`: all output was sent, so that TLS may end in order.
  void close(bool said_all);

 private:
  static constexpr std::size_t kGatheredPieces = 64;

  // Most output is one piece. For that the kernel has less to copy and to check with send().
  ssize_t send_pieces(std::span<iovec> pieces) const noexcept {
    constexpr int kFlags = MSG_NOSIGNAL | MSG_DONTWAIT;
    if (pieces.size() == 1) [[likely]] {
      return ::send(descriptor_, pieces[0].iov_base, pieces[0].iov_len, kFlags);
    }
    msghdr message{};
    message.msg_iov = pieces.data();
    message.msg_iovlen = pieces.size();
    return ::sendmsg(descriptor_, &message, kFlags);
  }
  Taken take_by_tls(std::span<char> space, std::span<char> buffer);
  Moved give_by_tls(const OutputBuffer& output, std::size_t left);
  [[nodiscard]] std::span<const char> next_record(const OutputBuffer& output, std::size_t most);
  /// Called before OpenSSL uses its buffers. `comes`: for input from the client, which counts as a use.
  void keep_buffers(bool comes);
  void leave_buffers();
  /// Counts the memory of TLS. A record that has not come whole counts as unfinished input.
  void hold(std::size_t record, std::size_t own);
  void hold_record() {
    if (const std::size_t record = tls_->held_bytes(); record != held_) {
      hold(record, own_);
    }
  }

  ConnectionHost& net_;
  int descriptor_;  ///< below 0: closed, or another worker's
  bool readable_ = false;
  bool read_on_ = false;
  std::unique_ptr<TlsStream> tls_;  ///< null: no TLS, or the client has not sent anything
  std::size_t held_ = 0;            ///< bytes of a record that has not come whole
  std::size_t own_ = 0;             ///< other bytes that TLS takes
  std::shared_ptr<const TlsFacts> facts_;
};

}  // namespace mxkv::server
