// A listening socket: opened at an address, or inherited from the process that started this one.
//
// A unix socket is also a file. A file on which no process answers was left by a process that crashed, and is
// replaced. If a process answers, or the file is no socket, that is an error. remove_file() removes the file
// while the socket still listens: otherwise another process could find the file stale and replace it, and we
// would remove the new one.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <utility>

#include "config/options.hpp"
#include "runtime/base/result.hpp"

namespace mxkv::server {

class TlsContext;

/// Owns the descriptor, which is non-blocking and closed on exec. Thread-safety: as a plain value.
class ListenSocket {
 public:
  /// Binds and listens. Errors: "listen on ADDRESS: why".
  [[nodiscard]] static runtime::Result<ListenSocket> open(const config::ListenAddress& address);
  /// Takes over a descriptor that the parent process passed in. Errors: "descriptor N: why", if it is not a
  /// listening stream socket.
  [[nodiscard]] static runtime::Result<ListenSocket> inherit(int descriptor);

  ListenSocket(ListenSocket&& other) noexcept;
  ListenSocket& operator=(ListenSocket&& other) = delete;
  ListenSocket(const ListenSocket&) = delete;
  ListenSocket& operator=(const ListenSocket&) = delete;
  /// Closes the socket, and removes its file if this object created it.
  ~ListenSocket();

  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  /// Gives up the descriptor. This object still removes the file.
  [[nodiscard]] int release() noexcept { return std::exchange(descriptor_, -1); }
  /// Where it listens, with the actual port.
  [[nodiscard]] const config::ListenAddress& address() const noexcept { return address_; }
  /// Takes the settings for its connections from `from`. The address stays.
  void take_settings(const config::ListenAddress& from) {
    address_.node = from.node;
    address_.auth = from.auth;
    address_.role = from.role;
    address_.reads = from.reads;
    address_.tls = from.tls;
  }
  /// Sets the TLS context; null: it speaks no TLS.
  void set_tls(std::shared_ptr<const TlsContext> tls) noexcept { tls_ = std::move(tls); }
  [[nodiscard]] const std::shared_ptr<const TlsContext>& tls() const noexcept { return tls_; }
  /// Removes the unix socket's file if this object created it and it is still the same file.
  void remove_file() noexcept;

 private:
  explicit ListenSocket(int descriptor) noexcept : descriptor_(descriptor) {}

  int descriptor_ = -1;
  config::ListenAddress address_;
  std::shared_ptr<const TlsContext> tls_;
  bool owns_file_ = false;
  dev_t file_device_ = 0;
  ino_t file_number_ = 0;
};

}  // namespace mxkv::server
