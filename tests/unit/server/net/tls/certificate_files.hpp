// A self-signed certificate and its key, as files. The same certificate at any time, except for its key.
#pragma once

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "config/options.hpp"

namespace mxkv::server::test {

/// A self-signed certificate and its key, as files.
class CertificateFiles {
 public:
  /// `called`: the certificate's name, which says its purpose.
  explicit CertificateFiles(const std::string& called = "unit")
      : folder_(std::filesystem::temp_directory_path() /
                ("mxkv-tls-" + std::to_string(::getpid()) + called)) {
    std::filesystem::create_directories(folder_);
    EVP_PKEY* const key = EVP_EC_gen("P-256");
    X509* const certificate = X509_new();
    ASN1_TIME_set_string_X509(X509_getm_notBefore(certificate), "20200101000000Z");
    ASN1_TIME_set_string_X509(X509_getm_notAfter(certificate), "20991231235959Z");
    X509_set_pubkey(certificate, key);
    X509_NAME* const name = X509_get_subject_name(certificate);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>(called.c_str()), -1, -1, 0);
    X509_set_issuer_name(certificate, name);
    X509_set_version(certificate, X509_VERSION_3);
    X509_EXTENSION* const names =
        X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, ("DNS:" + called).c_str());
    X509_add_ext(certificate, names, -1);
    X509_EXTENSION_free(names);
    X509_sign(certificate, key, EVP_sha256());
    write("certificate", [&](BIO* file) { PEM_write_bio_X509(file, certificate); });
    write("key",
          [&](BIO* file) { PEM_write_bio_PrivateKey(file, key, nullptr, nullptr, 0, nullptr, nullptr); });
    X509_free(certificate);
    EVP_PKEY_free(key);
  }
  ~CertificateFiles() { std::filesystem::remove_all(folder_); }
  CertificateFiles(const CertificateFiles&) = delete;
  CertificateFiles& operator=(const CertificateFiles&) = delete;

  [[nodiscard]] config::TlsOptions options() const {
    return {.certificate = folder_ / "certificate", .key = folder_ / "key"};
  }
  /// The same for a node, which trusts only certificates like its own.
  [[nodiscard]] config::TlsOptions options_of_node(const std::string& name = {}) const {
    config::TlsOptions of_node = options();
    of_node.client_ca = of_node.certificate;
    of_node.name = name;
    of_node.minimum = config::tls_version::v1_3;
    return of_node;
  }

 private:
  template <class F>
  void write(const char* name, const F& what) {
    BIO* const file = BIO_new_file((folder_ / name).c_str(), "w");
    what(file);
    BIO_free(file);
  }
  std::filesystem::path folder_;
};

}  // namespace mxkv::server::test
