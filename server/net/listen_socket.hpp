// A listening socket: opened at an address, or inherited from the process that started this one.
//
// A unix socket is a file, too. A file that no process answers on was left by one that crashed, and is
// replaced. A file that is answered, or is no socket, is an error. The file goes with remove_file(), while the
// socket still listens: so no other process can find it stale, replace it, and lose the new one to us.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <utility>

#include "config/options.hpp"
#include "runtime/base/result.hpp"

namespace mxkv::server {

class TlsContext;

/// Owns the descriptor, which is non-blocking and closed on exec. Thread-safety: that of a plain value.
class ListenSocket {
 public:
  /// Binds and listens. Errors: "listen on ADDRESS: why".
  [[nodiscard]] static runtime::Result<ListenSocket> open(const config::ListenAddress& address);
  /// Takes over a descriptor that was passed in. Errors: "descriptor N: why", if it is no stream socket that
  /// listens.
  [[nodiscard]] static runtime::Result<ListenSocket> inherit(int descriptor);

  ListenSocket(ListenSocket&& other) noexcept;
  ListenSocket& operator=(ListenSocket&& other) = delete;
  ListenSocket(const ListenSocket&) = delete;
  ListenSocket& operator=(const ListenSocket&) = delete;
  /// Closes, and removes the file of a unix socket that was opened here.
  ~ListenSocket();

  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  /// Gives up the descriptor; the file remains this object's to remove.
  [[nodiscard]] int release() noexcept { return std::exchange(descriptor_, -1); }
  /// Where it listens; with the port that it got.
  [[nodiscard]] const config::ListenAddress& address() const noexcept { return address_; }
  /// What goes for its connections is as said there; where it listens stays.
  void take_settings(const config::ListenAddress& from) {
    address_.node = from.node;
    address_.auth = from.auth;
    address_.tls = from.tls;
  }
  /// What it speaks TLS by; null: it speaks none.
  void set_tls(std::shared_ptr<const TlsContext> tls) noexcept { tls_ = std::move(tls); }
  [[nodiscard]] const std::shared_ptr<const TlsContext>& tls() const noexcept { return tls_; }
  /// Removes the file of a unix socket that was opened here, if it is still the same.
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
