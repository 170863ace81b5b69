// A connected socket, plain or encrypted, that never blocks.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "protocol/clients/cli/connection/endpoint.hpp"

namespace mxkv::cli {

/// Thread-safety: one thread.
class Stream {
 public:
  enum class Status { moved, wants_read, wants_write, closed };
  struct Transfer {
    Status status;
    std::size_t bytes = 0;
  };

  Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  virtual ~Stream() = default;

  virtual Transfer send(std::string_view bytes) = 0;
  virtual Transfer receive(char* out, std::size_t bytes) = 0;
  /// Why the stream was closed; empty if the server closed it without an error.
  [[nodiscard]] virtual std::string trouble() const = 0;
  [[nodiscard]] virtual int descriptor() const noexcept = 0;
};

using Milliseconds = std::chrono::milliseconds;

/// Options of the encrypted form.
struct TlsOptions {
  bool on = false;
  bool insecure = false;  ///< takes any certificate
  std::string ca{};       ///< file of certificates; empty: the system's
  std::string certificate{};
  std::string key{};
};

/// Waits until `descriptor` is ready for `events` of poll(2). Returns the ready events. Throws Failure after
/// `patience` or an interrupt.
short wait_until_ready(int descriptor, short events, Milliseconds patience, const std::string& server);

/// Connects within `patience`, or throws Failure (Outcome::unreachable).
[[nodiscard]] std::unique_ptr<Stream> dial(const Endpoint& endpoint, const TlsOptions& tls,
                                           Milliseconds patience);

/// The encrypted form over a connected socket, which it owns from then on. Does the handshake.
[[nodiscard]] std::unique_ptr<Stream> encrypt(int descriptor, const Endpoint& endpoint,
                                              const TlsOptions& options, Milliseconds patience);

}  // namespace mxkv::cli
