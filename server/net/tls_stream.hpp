// TLS of one connection: bytes of the socket on one side, those of the session on the other.
//
// OpenSSL reads and writes the socket through a method of ours, which does as much in one system call as there
// is, and remembers a read that was short: nothing is there then until the socket is told of again. What is sent
// becomes a record of at most 16 KiB. One that the socket does not take whole stays in OpenSSL, and is offered
// again by the next write(), which has to begin with the same bytes. Its buffers stay from record to record until
// it is told to give them back.
//
// How a stream ends:
//
//     handshake ──> open ──> the other side ended ──> failed
//         └───────────┴───────────────────────────────^
//
// Bytes that came before an end are delivered before it, and the end is told alone, by the next call. The stream remembers
// it: from then on every call returns it, whatever the call is, and asks OpenSSL nothing. No input may make a call assert.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "runtime/base/assert.hpp"
#include "server/net/tls_context.hpp"

struct bio_method_st;
struct bio_st;
struct ssl_st;
struct X509_name_st;

namespace mxkv::server {

/// What was agreed upon with a client; for `stats conns`.
struct TlsFacts {
  std::string version;  ///< "TLSv1.3"
  std::string cipher;
  std::string subject;  ///< of the client's certificate; empty: it showed none
  bool by_kernel = false;
};

/// Which side of a connection this one is.
enum class tls_side : std::uint8_t { accepts, connects };

/// Thread-safety: owner worker only.
class TlsStream {
 public:
  /// Most bytes of a record.
  static constexpr std::size_t kRecordBytes = std::size_t{16} << 10U;
  /// About what a connection takes beside its buffers, and while it shakes hands: measured by the test. Half of the former
  /// is the SSL structure itself, 7.6 KB in OpenSSL 3.0, and most of the rest are its session, its ciphers' states and locks.
  static constexpr std::size_t kIdleBytes = std::size_t{16} << 10U;
  static constexpr std::size_t kHandshakeBytes = std::size_t{96} << 10U;
  /// About what a record takes that is not whole.
  static constexpr std::size_t kBufferBytes = std::size_t{17} << 10U;
  /// About what its buffers take, of input and output.
  static constexpr std::size_t kBuffersBytes = 2 * kBufferBytes;

  /// How far a call came, and what is to happen before the next one.
  enum class outcome : std::uint8_t {
    done,          ///< as far as was asked
    wants_input,   ///< the socket has nothing more
    wants_output,  ///< the socket takes nothing more
    ended,         ///< the other side sends nothing more; it may still be written to
    failed,        ///< nothing is read or written any more: see reason()
  };
  /// Bytes that moved, or why none did. An end never comes with bytes, so that a caller that takes the bytes cannot lose
  /// the end: `how` of bytes is `done`, and the next call says more, or `wants_input`.
  struct [[nodiscard]] Moved {
    constexpr Moved(std::size_t moved, outcome how_far) noexcept : bytes(moved), how(how_far) {
      MXKV_ASSERT(bytes == 0 || how == outcome::done || how == outcome::wants_input,
                  "an end is told alone, behind the bytes");
    }
    const std::size_t bytes;
    const outcome how;
  };

  /// `socket` is non-blocking, and stays the caller's. Throws std::bad_alloc.
  TlsStream(std::shared_ptr<const TlsContext> context, int socket, tls_side side = tls_side::accepts);
  ~TlsStream();
  TlsStream(const TlsStream&) = delete;
  TlsStream& operator=(const TlsStream&) = delete;

  /// done: it may be read and written; also where it could be before. `read_on`: see Readiness.
  [[nodiscard]] outcome shake_hands(bool read_on);
  /// Fills `into` as far as it can; done: there may be more.
  [[nodiscard]] Moved read(std::span<char> into, bool read_on);
  /// Whether the other side sends nothing more, and all that came was read. What is there stays for the next read().
  [[nodiscard]] bool ends_now();
  /// Sends `bytes`, a record's at most, or none of them.
  [[nodiscard]] Moved write(std::span<const char> bytes);
  /// Gives its buffers back; they are there again when they are needed. False: there is something in them.
  bool give_buffers() noexcept;
  /// Says that nothing more comes, if that can be said at once.
  void end() noexcept;

  /// Bytes that it holds for a record that has not come whole.
  [[nodiscard]] std::size_t held_bytes() const noexcept;
  /// After the handshake.
  [[nodiscard]] TlsFacts facts() const;
  /// Why it failed; empty: the other side left.
  [[nodiscard]] const std::string& reason() const noexcept { return reason_; }

 private:
  friend bio_method_st* make_socket_method(bool by_kernel) noexcept;
  static int read_socket(bio_st* bio, char* to, int most) noexcept;
  static int write_socket(bio_st* bio, const char* from, int bytes) noexcept;
  /// Why OpenSSL did not do it; an end is remembered.
  [[nodiscard]] outcome stopped(int result);

  std::shared_ptr<const TlsContext> context_;
  ssl_st* ssl_;
  int socket_;
  bool read_on_ = false;         ///< also behind a read that is short
  bool empty_ = false;           ///< the socket has nothing more until its next event
  bool unsent_ = false;          ///< a record waits in OpenSSL for the socket
  outcome end_ = outcome::done;  ///< ended, failed: it has; done: not yet
  std::string reason_;
};

/// How OpenSSL reads and writes the socket of a TlsStream; null: no memory. To be freed by BIO_meth_free(). `by_kernel`:
/// whether the kernel may encrypt.
[[nodiscard]] bio_method_st* make_socket_method(bool by_kernel) noexcept;

/// A name of a certificate, as "CN=ann,O=example".
[[nodiscard]] std::string name_of(const X509_name_st* name);

}  // namespace mxkv::server
