// TLS of one connection, between its socket and its session.
//
// OpenSSL reads and writes the socket through a method of ours. It reads as much as there is in one system
// call, and remembers a short read: the socket is then empty until its next event. A write becomes a record
// of at most 16 KiB. If the socket does not take all of it, the record stays in OpenSSL and is offered again
// by the next write(), which has to begin with the same bytes. The buffers are kept between records until
// give_buffers().
//
// How a stream ends:
//
//     handshake ──> open ──> the other side ended ──> failed
//         └───────────┴───────────────────────────────^
//
// Bytes that came before an end are delivered first, and the end is reported alone, by the next call. The
// stream remembers it: from then on every call returns it without asking OpenSSL, except that write() still
// works after `ended`. No input may make a call assert.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "runtime/base/assert.hpp"
#include "server/net/tls/tls_context.hpp"

struct bio_method_st;
struct bio_st;
struct ssl_st;
struct X509_name_st;

namespace mxkv::server {

/// The TLS parameters agreed with a client; for `stats conns`.
struct TlsFacts {
  std::string version;  ///< "TLSv1.3"
  std::string cipher;
  std::string subject;  ///< of the client's certificate; empty: it showed none
  bool by_kernel = false;
};

/// Which side of a connection we are.
enum class tls_side : std::uint8_t { accepts, connects };

/// Thread-safety: owner worker only.
class TlsStream {
 public:
  /// Most bytes of a record.
  static constexpr std::size_t kRecordBytes = std::size_t{16} << 10U;
  /// About the memory of a connection without its buffers, and of a handshake: measured by the test. Half of
  /// the first is the SSL structure itself, 7.6 KB in OpenSSL 3.0. Most of the rest are its session, the
  /// states of its ciphers, and locks.
  static constexpr std::size_t kIdleBytes = std::size_t{16} << 10U;
  static constexpr std::size_t kHandshakeBytes = std::size_t{96} << 10U;
  /// About the memory of a record that has not come whole.
  static constexpr std::size_t kBufferBytes = std::size_t{17} << 10U;
  /// About the memory of its buffers for input and output.
  static constexpr std::size_t kBuffersBytes = 2 * kBufferBytes;

  /// How far a call came, and what it needs before the next one.
  enum class outcome : std::uint8_t {
    done,          ///< as far as requested
    wants_input,   ///< the socket has no more bytes
    wants_output,  ///< the socket takes no more bytes
    ended,         ///< the other side sends nothing more; it may still be written to
    failed,        ///< no more reading or writing: see reason()
  };
  /// Bytes that moved, or why none did. An end never comes with bytes, so that a caller that takes the bytes
  /// cannot lose the end: with bytes, `how` is `done` or `wants_input`, and after `done` the next call says
  /// more.
  struct [[nodiscard]] Moved {
    constexpr Moved(std::size_t moved, outcome how_far) noexcept : bytes(moved), how(how_far) {
      MXKV_ASSERT(bytes == 0 || how == outcome::done || how == outcome::wants_input,
                  "an end is told alone, behind the bytes");
    }
    const std::size_t bytes;
    const outcome how;
  };

  /// `socket` is non-blocking, and the caller still owns it. Throws std::bad_alloc.
  TlsStream(std::shared_ptr<const TlsContext> context, int socket, tls_side side = tls_side::accepts);
  ~TlsStream();
  TlsStream(const TlsStream&) = delete;
  TlsStream& operator=(const TlsStream&) = delete;

  /// done: the stream may be read and written, even if it was open before. `read_on`: see Readiness.
  [[nodiscard]] outcome shake_hands(bool read_on);
  /// Fills `into` as far as it can; done: there may be more.
  [[nodiscard]] Moved read(std::span<char> into, bool read_on);
  /// Whether the other side sends nothing more and all bytes were read. Bytes that came stay for the next
  /// read().
  [[nodiscard]] bool ends_now();
  /// Sends all of `bytes`, at most a record, or none.
  [[nodiscard]] Moved write(std::span<const char> bytes);
  /// Gives the buffers back; OpenSSL allocates them again when needed. False: they are not empty.
  bool give_buffers() noexcept;
  /// Sends the closing message, if it can be sent at once.
  void end() noexcept;

  /// Bytes held for a record that has not come whole.
  [[nodiscard]] std::size_t held_bytes() const noexcept;
  /// After the handshake.
  [[nodiscard]] TlsFacts facts() const;
  /// Why it failed; empty: the other side left.
  [[nodiscard]] const std::string& reason() const noexcept { return reason_; }

 private:
  friend bio_method_st* make_socket_method(bool by_kernel) noexcept;
  static int read_socket(bio_st* bio, char* to, int most) noexcept;
  static int write_socket(bio_st* bio, const char* from, int bytes) noexcept;
  /// OpenSSL's reason for not completing a call; remembers an end.
  [[nodiscard]] outcome stopped(int result);

  std::shared_ptr<const TlsContext> context_;
  ssl_st* ssl_;
  int socket_;
  bool read_on_ = false;         ///< read on, even after a short read
  bool empty_ = false;           ///< the socket has nothing more until its next event
  bool unsent_ = false;          ///< a record waits in OpenSSL for the socket
  outcome end_ = outcome::done;  ///< ended or failed; done: neither yet
  std::string reason_;
};

/// Makes the BIO method by which OpenSSL reads and writes the socket of a TlsStream; null: no memory. The
/// caller frees it with BIO_meth_free(). `by_kernel`: whether the kernel may encrypt.
[[nodiscard]] bio_method_st* make_socket_method(bool by_kernel) noexcept;

/// A certificate's name, as "CN=ann,O=example".
[[nodiscard]] std::string name_of(const X509_name_st* name);

}  // namespace mxkv::server
