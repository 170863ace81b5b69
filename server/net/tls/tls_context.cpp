#include "server/net/tls/tls_context.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <new>
#include <string_view>
#include <utility>

#include "server/net/tls/openssl.hpp"
#include "server/net/tls/tls_stream.hpp"

namespace mxkv::server {

namespace {

/// A certificate that ends within so many days gets a warning.
constexpr int kEndsSoonDays = 14;

/// Why the file cannot be read; empty: it can.
std::string lack_of(const std::string& file) {
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  std::array<char, 1> byte{};
  const bool reads = descriptor >= 0 && ::read(descriptor, byte.data(), byte.size()) >= 0;
  const std::string why = reads ? "" : file + ": cannot be read: " + std::strerror(errno);
  if (descriptor >= 0) {
    ::close(descriptor);
  }
  return why;
}

/// Why OpenSSL rejects a file that can be read.
std::string flaw_of(const std::string& file, const char* wanted) {
  bool secret = false;
  while (const unsigned long error = ERR_get_error()) {
    secret =
        secret || (ERR_GET_LIB(error) == ERR_LIB_PEM && ERR_GET_REASON(error) == PEM_R_BAD_PASSWORD_READ);
  }
  return secret ? file + ": is protected by a passphrase (allowed: a key without one)"
                : file + ": holds no " + wanted + " in PEM";
}

int no_passphrase(char* /*buffer*/, int /*bytes*/, int /*writes*/, void* /*context*/) {
  return -1;  // nobody is asked for a passphrase, least of all on a terminal
}

// All ciphers of TLS 1.3 are strong, and the one with the shorter key has fewer rounds. The system's
// openssl.cnf decides which ciphers there are. A client that puts ChaCha20 first has no AES in its CPU, and
// gets ChaCha20.
void put_short_key_first(SSL_CTX* context) {
  constexpr std::string_view kShortKey = "TLS_AES_128_GCM_SHA256";
  const STACK_OF(SSL_CIPHER)* const ciphers = SSL_CTX_get_ciphers(context);
  std::string first;
  std::string others;
  for (int i = 0; i < sk_SSL_CIPHER_num(ciphers); ++i) {
    const SSL_CIPHER* const cipher = sk_SSL_CIPHER_value(ciphers, i);
    const std::string_view name = SSL_CIPHER_get_name(cipher);
    if (std::string_view{SSL_CIPHER_get_version(cipher)} == "TLSv1.3") {
      (name == kShortKey ? first : others).append(":").append(name);
    }
  }
  if (const std::string suites = first + others; !first.empty()) {
    SSL_CTX_set_ciphersuites(context, suites.c_str() + 1);
    SSL_CTX_set_options(context, SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
  }
}

std::string text_of(const ASN1_TIME* time) {
  std::tm parts{};
  std::array<char, 32> text{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) {
    return "an unknown time";
  }
  return std::string{text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M UTC", &parts)};
}

std::int64_t unix_s_of(const ASN1_TIME* time) {
  std::tm parts{};
  return ASN1_TIME_to_tm(time, &parts) == 1 ? timegm(&parts) : 0;
}

}  // namespace

// Without the module the system tries to load it, if the process may cause that, and then reports that there
// is none. With the module it reports that this socket is not connected.
bool kernel_has_tls() noexcept {
  const int probe = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  constexpr std::string_view kName = "tls";
  const bool has = probe >= 0 && ::setsockopt(probe, IPPROTO_TCP, TCP_ULP, kName.data(), kName.size()) != 0 &&
                   errno == ENOTCONN;
  if (probe >= 0) {
    ::close(probe);
  }
  return has;
}

TlsContext::TlsContext()
    : by_kernel_(kernel_has_tls()),
      context_(SSL_CTX_new(TLS_method())),
      socket_method_(make_socket_method(by_kernel_)) {
  if (context_ == nullptr || socket_method_ == nullptr) {
    ERR_clear_error();
    throw std::bad_alloc{};
  }
}

TlsContext::~TlsContext() {
  SSL_CTX_free(context_);
  BIO_meth_free(socket_method_);
}

// An end of input without a closing message is accepted as an end: the length of a request is known from the
// request itself.
void TlsContext::set_rules(const config::TlsOptions& options) noexcept {
  constexpr std::string_view kSessions = "mxkv";
  SSL_CTX_set_min_proto_version(
      context_, options.minimum == config::tls_version::v1_3 ? TLS1_3_VERSION : TLS1_2_VERSION);
  SSL_CTX_set_options(context_,
                      SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_IGNORE_UNEXPECTED_EOF);
  SSL_CTX_set_mode(context_, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  put_short_key_first(context_);
  SSL_CTX_set_read_ahead(context_, 1);
  SSL_CTX_set_session_cache_mode(context_, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(context_, 1);
  SSL_CTX_set_session_id_context(context_, reinterpret_cast<const unsigned char*>(kSessions.data()),
                                 kSessions.size());
  SSL_CTX_set_default_passwd_cb(context_, &no_passphrase);
  if (by_kernel_) {
    SSL_CTX_set_options(context_, SSL_OP_ENABLE_KTLS);
  }
}

void TlsContext::use_certificate(const config::TlsOptions& options, std::vector<TlsFlaw>& flaws) {
  const std::string& file = options.certificate;
  std::string certificate = lack_of(file);
  if (certificate.empty() && SSL_CTX_use_certificate_chain_file(context_, file.c_str()) != 1) {
    certificate = flaw_of(file, "certificate");
  }
  std::string key = lack_of(options.key);
  if (key.empty() && SSL_CTX_use_PrivateKey_file(context_, options.key.c_str(), SSL_FILETYPE_PEM) != 1) {
    const int reason = ERR_GET_REASON(ERR_peek_last_error());
    const bool other = ERR_GET_LIB(ERR_peek_last_error()) == ERR_LIB_X509 &&
                       (reason == X509_R_KEY_VALUES_MISMATCH || reason == X509_R_KEY_TYPE_MISMATCH);
    key = other ? options.key + ": is not the key of " + file : flaw_of(options.key, "private key");
  }
  if (certificate.empty() && key.empty() && SSL_CTX_check_private_key(context_) != 1) {
    key = options.key + ": is not the key of " + file;
  }
  ERR_clear_error();
  if (!certificate.empty()) {
    flaws.push_back({"certificate", std::move(certificate)});
  }
  if (!key.empty()) {
    flaws.push_back({"key", std::move(key)});
  }
}

void TlsContext::use_authority(const config::TlsOptions& options, std::vector<TlsFlaw>& flaws) {
  const std::string& file = options.client_ca;
  std::string flaw = lack_of(file);
  STACK_OF(X509_NAME)* const names = flaw.empty() ? SSL_load_client_CA_file(file.c_str()) : nullptr;
  if (flaw.empty() && (names == nullptr || SSL_CTX_load_verify_file(context_, file.c_str()) != 1)) {
    flaw = flaw_of(file, "certificate");
  }
  if (!flaw.empty()) {
    sk_X509_NAME_pop_free(names, X509_NAME_free);
    flaws.push_back({"client_ca", std::move(flaw)});
    return;
  }
  SSL_CTX_set_client_CA_list(context_, names);
  if (!options.name.empty()) {
    X509_VERIFY_PARAM* const rules = SSL_CTX_get0_param(context_);
    X509_VERIFY_PARAM_set_hostflags(rules, X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
    X509_VERIFY_PARAM_set1_host(rules, options.name.c_str(), options.name.size());
  }
  SSL_CTX_set_verify(context_, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
}

void TlsContext::look_at_certificate(const std::string& file, std::vector<std::string>& doubts) {
  const X509* const certificate = SSL_CTX_get0_certificate(context_);
  const ASN1_TIME* const from = X509_get0_notBefore(certificate);
  const ASN1_TIME* const until = X509_get0_notAfter(certificate);
  summary_ = "certificate of " + name_of(X509_get_subject_name(certificate)) + " until " + text_of(until);
  ends_unix_s_ = unix_s_of(until);
  int days = 0;
  int seconds = 0;
  const bool known = ASN1_TIME_diff(&days, &seconds, nullptr, until) == 1;
  if (X509_cmp_current_time(until) < 0) {
    doubts.push_back(file + ": the certificate expired on " + text_of(until) + ": clients will refuse it");
  } else if (X509_cmp_current_time(from) > 0) {
    doubts.push_back(file + ": the certificate is valid from " + text_of(from) +
                     " on: clients refuse it until then");
  } else if (known && days < kEndsSoonDays) {
    doubts.push_back(file + ": the certificate expires in " + std::to_string(days) + " days, on " +
                     text_of(until));
  }
}

std::shared_ptr<const TlsContext> TlsContext::read(const config::TlsOptions& options,
                                                   std::vector<TlsFlaw>& flaws,
                                                   std::vector<std::string>& doubts) {
  const std::shared_ptr<TlsContext> made{new TlsContext};
  const std::size_t before = flaws.size();
  made->set_rules(options);
  made->use_certificate(options, flaws);
  if (!options.client_ca.empty()) {
    made->use_authority(options, flaws);
  }
  if (flaws.size() != before) {
    return nullptr;
  }
  made->look_at_certificate(options.certificate, doubts);
  return made;
}

std::vector<CertificateEnd> certificate_ends(const std::vector<TlsDoor*>& doors) {
  std::vector<CertificateEnd> ends;
  for (const TlsDoor* const door : doors) {
    ends.push_back({door->place(), door->current()->ends_unix_s()});
  }
  return ends;
}

std::size_t reread_certificates(const std::vector<TlsDoor*>& doors, std::vector<TlsFlaw>& flaws,
                                std::vector<std::string>& doubts) {
  std::vector<std::shared_ptr<const TlsContext>> read;
  for (const TlsDoor* const door : doors) {
    read.push_back(TlsContext::read(door->options(), flaws, doubts));
  }
  if (!flaws.empty()) {
    return 0;
  }
  for (std::size_t i = 0; i < doors.size(); ++i) {
    doors[i]->replace(std::move(read[i]));
  }
  return doors.size();
}

}  // namespace mxkv::server
