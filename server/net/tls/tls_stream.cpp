#include "server/net/tls/tls_stream.hpp"

#include <sys/socket.h>

#include <cerrno>
#include <new>
#include <utility>

#include "runtime/base/assert.hpp"
#include "server/net/tls/openssl.hpp"

namespace mxkv::server {

namespace {
// OpenSSL asks several times for each record whether the kernel encrypts.
long answer_without_kernel(BIO* bio, int what, long number, void* pointer) {
  return what == BIO_CTRL_GET_KTLS_SEND || what == BIO_CTRL_GET_KTLS_RECV
             ? 0
             : BIO_meth_get_ctrl(BIO_s_socket())(bio, what, number, pointer);
}
}  // namespace

// If the kernel encrypts or decrypts, OpenSSL's own functions read and write, because they exchange more with
// the kernel than bytes.
int TlsStream::read_socket(bio_st* bio, char* to, int most) noexcept {
  auto& stream = *static_cast<TlsStream*>(BIO_get_app_data(bio));
  if (stream.context_->by_kernel() && BIO_get_ktls_recv(bio)) {
    return BIO_meth_get_read(BIO_s_socket())(bio, to, most);
  }
  BIO_clear_retry_flags(bio);
  ssize_t got = -1;
  while (!stream.empty_ && (got = ::recv(stream.socket_, to, static_cast<std::size_t>(most), 0)) < 0 &&
         errno == EINTR) {
  }
  if (got > 0) {
    stream.empty_ = got < most && !stream.read_on_;
    return static_cast<int>(got);
  }
  if (got == 0) {
    BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
    return 0;
  }
  if (stream.empty_ || errno == EAGAIN || errno == EWOULDBLOCK) {
    stream.empty_ = true;
    BIO_set_retry_read(bio);
  }
  return -1;
}

int TlsStream::write_socket(bio_st* bio, const char* from, int bytes) noexcept {
  const auto& stream = *static_cast<const TlsStream*>(BIO_get_app_data(bio));
  if (stream.context_->by_kernel() && BIO_get_ktls_send(bio)) {
    return BIO_meth_get_write(BIO_s_socket())(bio, from, bytes);
  }
  BIO_clear_retry_flags(bio);
  ssize_t sent = -1;
  while ((sent = ::send(stream.socket_, from, static_cast<std::size_t>(bytes), MSG_NOSIGNAL | MSG_DONTWAIT)) <
             0 &&
         errno == EINTR) {
  }
  if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
    BIO_set_retry_write(bio);
  }
  return static_cast<int>(sent);
}

// All else works as in OpenSSL's own method, which also sets up the kernel's encryption.
bio_method_st* make_socket_method(bool by_kernel) noexcept {
  const BIO_METHOD* const usual = BIO_s_socket();
  BIO_METHOD* const method = BIO_meth_new(BIO_TYPE_SOCKET, "a connection's socket");
  if (method != nullptr) {
    BIO_meth_set_read(method, &TlsStream::read_socket);
    BIO_meth_set_write(method, &TlsStream::write_socket);
    BIO_meth_set_ctrl(method, by_kernel ? BIO_meth_get_ctrl(usual) : &answer_without_kernel);
    BIO_meth_set_create(method, BIO_meth_get_create(usual));
    BIO_meth_set_destroy(method, BIO_meth_get_destroy(usual));
  }
  return method;
}

TlsStream::TlsStream(std::shared_ptr<const TlsContext> context, int socket, tls_side side)
    : context_(std::move(context)), ssl_(SSL_new(context_->get())), socket_(socket) {
  BIO* const bio = ssl_ == nullptr ? nullptr : BIO_new(context_->socket_method());
  if (bio == nullptr) {
    SSL_free(ssl_);
    ERR_clear_error();
    throw std::bad_alloc{};
  }
  BIO_set_fd(bio, socket, BIO_NOCLOSE);
  BIO_set_app_data(bio, this);
  SSL_set_bio(ssl_, bio, bio);
  if (side == tls_side::accepts) {
    SSL_set_accept_state(ssl_);
  } else {
    SSL_set_connect_state(ssl_);
  }
}

TlsStream::~TlsStream() {
  SSL_free(ssl_);
}

TlsStream::outcome TlsStream::stopped(int result) {
  switch (SSL_get_error(ssl_, result)) {
    case SSL_ERROR_WANT_READ:
      return outcome::wants_input;
    case SSL_ERROR_WANT_WRITE:
      return outcome::wants_output;
    case SSL_ERROR_ZERO_RETURN:
      ERR_clear_error();
      return end_ = outcome::ended;
    default:
      break;
  }
  const long verdict = SSL_get_verify_result(ssl_);
  const bool refused = ERR_GET_REASON(ERR_peek_error()) == SSL_R_CERTIFICATE_VERIFY_FAILED;
  reason_ = take_openssl_error();
  if (refused && verdict != X509_V_OK) {
    reason_.append(": ").append(X509_verify_cert_error_string(verdict));
  }
  return end_ = outcome::failed;
}

TlsStream::outcome TlsStream::shake_hands(bool read_on) {
  if (end_ != outcome::done) {
    return end_;
  }
  read_on_ = read_on;
  empty_ = false;
  const int result = SSL_do_handshake(ssl_);
  return result == 1 ? outcome::done : stopped(result);
}

TlsStream::Moved TlsStream::read(std::span<char> into, bool read_on) {
  if (end_ != outcome::done) {
    return {0, end_};
  }
  read_on_ = read_on;
  empty_ = false;
  std::size_t filled = 0;
  while (filled < into.size()) {
    std::size_t got = 0;
    if (SSL_read_ex(ssl_, into.data() + filled, into.size() - filled, &got) != 1) {
      const outcome why = stopped(0);
      return {filled, filled == 0 || why == outcome::wants_input ? why : outcome::done};
    }
    filled += got;
    if (empty_ && SSL_has_pending(ssl_) == 0) {
      return {filled, outcome::wants_input};
    }
  }
  return {filled, outcome::done};
}

bool TlsStream::ends_now() {
  if (end_ == outcome::done) {
    read_on_ = true;
    empty_ = false;
    char byte = 0;
    std::size_t got = 0;
    if (SSL_peek_ex(ssl_, &byte, 1, &got) != 1) {
      static_cast<void>(stopped(0));
    }
  }
  return end_ != outcome::done;
}

TlsStream::Moved TlsStream::write(std::span<const char> bytes) {
  MXKV_ASSERT(bytes.size() <= kRecordBytes, "what is sent is one record");
  if (end_ == outcome::failed) {
    return {0, end_};
  }
  std::size_t sent = 0;
  if (SSL_write_ex(ssl_, bytes.data(), bytes.size(), &sent) == 1) {
    unsent_ = false;
    return {sent, outcome::done};
  }
  const outcome how = stopped(0);
  unsent_ = how == outcome::wants_output;
  return {0, how};
}

// Buffers that hold a part of a record are not empty, either; OpenSSL before 3.0.14 does not check that.
bool TlsStream::give_buffers() noexcept {
  return end_ != outcome::failed && !unsent_ && SSL_has_pending(ssl_) == 0 && SSL_free_buffers(ssl_) == 1;
}

void TlsStream::end() noexcept {
  if (end_ != outcome::failed && !unsent_ && SSL_is_init_finished(ssl_) == 1) {
    static_cast<void>(SSL_shutdown(ssl_));
    ERR_clear_error();
  }
}

std::size_t TlsStream::held_bytes() const noexcept {
  return SSL_has_pending(ssl_) == 1 ? kBufferBytes : 0;
}

TlsFacts TlsStream::facts() const {
  TlsFacts facts{.version = SSL_get_version(ssl_), .cipher = SSL_get_cipher_name(ssl_), .subject = {}};
  if (const X509* const certificate = SSL_get0_peer_certificate(ssl_); certificate != nullptr) {
    facts.subject = name_of(X509_get_subject_name(certificate));
  }
  facts.by_kernel = context_->by_kernel() && BIO_get_ktls_send(SSL_get_wbio(ssl_));
  return facts;
}

std::string name_of(const X509_name_st* name) {
  BIO* const text = BIO_new(BIO_s_mem());
  std::string result;
  if (text != nullptr && X509_NAME_print_ex(text, name, 0, XN_FLAG_RFC2253) >= 0) {
    char* bytes = nullptr;
    const long length = BIO_get_mem_data(text, &bytes);
    result.assign(bytes, static_cast<std::size_t>(length > 0 ? length : 0));
  }
  BIO_free(text);
  ERR_clear_error();
  return result.empty() ? "nobody" : result;
}

}  // namespace mxkv::server
