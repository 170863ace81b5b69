#include "server/net/sockets/listen_socket.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "config/parse.hpp"

namespace mxkv::server {

namespace {

using config::ListenAddress;
using runtime::Error;
using runtime::Result;

/// An address as the system's calls take it.
struct Endpoint {
  sockaddr_storage storage{};
  socklen_t bytes = 0;

  [[nodiscard]] const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&storage); }
  [[nodiscard]] sockaddr* get() noexcept { return reinterpret_cast<sockaddr*>(&storage); }
  template <class T>
  [[nodiscard]] T as() const noexcept {
    T result{};
    std::memcpy(&result, &storage, sizeof result);
    return result;
  }
  template <class T>
  static Endpoint of(const T& address) noexcept {
    Endpoint endpoint;
    std::memcpy(&endpoint.storage, &address, sizeof address);
    endpoint.bytes = sizeof address;
    return endpoint;
  }
};

Endpoint unix_endpoint(const std::string& path) noexcept {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  return Endpoint::of(address);
}

/// The address was checked when the configuration was read.
Endpoint endpoint_of(const ListenAddress& listen) noexcept {
  if (!listen.path.empty()) {
    return unix_endpoint(listen.path);
  }
  sockaddr_in v4{};
  if (inet_pton(AF_INET, listen.address.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(listen.port);
    return Endpoint::of(v4);
  }
  sockaddr_in6 v6{};
  inet_pton(AF_INET6, listen.address.c_str(), &v6.sin6_addr);
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(listen.port);
  return Endpoint::of(v6);
}

/// The address of a bound socket.
ListenAddress address_of(int descriptor) {
  Endpoint endpoint;
  endpoint.bytes = sizeof endpoint.storage;
  ListenAddress address;
  if (getsockname(descriptor, endpoint.get(), &endpoint.bytes) != 0) {
    return address;
  }
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (endpoint.storage.ss_family == AF_INET) {
    const auto v4 = endpoint.as<sockaddr_in>();
    address.address = inet_ntop(AF_INET, &v4.sin_addr, text.data(), text.size());
    address.port = ntohs(v4.sin_port);
  } else if (endpoint.storage.ss_family == AF_INET6) {
    const auto v6 = endpoint.as<sockaddr_in6>();
    address.address = inet_ntop(AF_INET6, &v6.sin6_addr, text.data(), text.size());
    address.port = ntohs(v6.sin6_port);
  } else if (endpoint.storage.ss_family == AF_UNIX) {
    const auto local = endpoint.as<sockaddr_un>();
    const std::size_t most = endpoint.bytes - offsetof(sockaddr_un, sun_path);
    const bool abstract = most > 0 && local.sun_path[0] == '\0';
    address.path = abstract ? "@" + std::string{local.sun_path + 1, most - 1}
                            : std::string{local.sun_path, strnlen(local.sun_path, most)};
  }
  return address;
}

/// Removes a socket file on which no process answers. Returns the obstacle, or an empty text.
std::string clear_path(const std::string& path) {
  struct stat found{};
  if (lstat(path.c_str(), &found) != 0) {
    return {};  // other errors than a missing file show up in bind()
  }
  if (!S_ISSOCK(found.st_mode)) {
    return "the file exists and is not a socket";
  }
  const int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (probe < 0) {
    return std::strerror(errno);
  }
  const Endpoint endpoint = unix_endpoint(path);
  const int refused = connect(probe, endpoint.get(), endpoint.bytes) == 0 ? 0 : errno;
  close(probe);
  if (refused == 0 || refused == EAGAIN) {
    return "address already in use: a process answers on this socket";
  }
  if (refused != ECONNREFUSED) {
    return refused == ENOENT ? "" : std::strerror(refused);
  }
  return unlink(path.c_str()) == 0 || errno == ENOENT ? "" : std::strerror(errno);
}

/// Binds. The file of a unix socket never has more permissions than configured.
bool bind_to(int descriptor, const ListenAddress& address) {
  const Endpoint endpoint = endpoint_of(address);
  const int on = 1;
  if (!address.path.empty()) {
    return fchmod(descriptor, address.mode) == 0 && bind(descriptor, endpoint.get(), endpoint.bytes) == 0 &&
           chmod(address.path.c_str(), address.mode) == 0;
  }
  setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (endpoint.storage.ss_family == AF_INET6) {
    setsockopt(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  }
  return bind(descriptor, endpoint.get(), endpoint.bytes) == 0;
}

int socket_option(int descriptor, int option) {
  int value = 0;
  socklen_t bytes = sizeof value;
  return getsockopt(descriptor, SOL_SOCKET, option, &value, &bytes) == 0 ? value : -1;
}

}  // namespace

Result<ListenSocket> ListenSocket::open(const ListenAddress& address) {
  const auto failed = [&address](const std::string& why) {
    return Error{"listen on " + config::format_listen(address) + ": " + why};
  };
  if (!address.path.empty()) {
    if (address.path.size() >= sizeof(sockaddr_un::sun_path)) {  // a relative path was made absolute
      return failed("the path is longer than 107 bytes");
    }
    if (const std::string obstacle = clear_path(address.path); !obstacle.empty()) {
      return failed(obstacle);
    }
  }
  const int family = endpoint_of(address).storage.ss_family;
  ListenSocket opened{socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
  if (opened.descriptor_ < 0 || !bind_to(opened.descriptor_, address)) {
    return failed(std::strerror(errno));
  }
  opened.address_ = address;
  struct stat file{};
  if (!address.path.empty() && lstat(address.path.c_str(), &file) == 0) {
    opened.owns_file_ = true;
    opened.file_device_ = file.st_dev;
    opened.file_number_ = file.st_ino;
  }
  if (listen(opened.descriptor_, SOMAXCONN) != 0) {
    return failed(std::strerror(errno));
  }
  if (address.path.empty()) {
    opened.address_.port = address_of(opened.descriptor_).port;
  }
  return opened;
}

Result<ListenSocket> ListenSocket::inherit(int descriptor) {
  const auto failed = [descriptor](const std::string& why) {
    return Error{"descriptor " + std::to_string(descriptor) + ": " + why};
  };
  if (fcntl(descriptor, F_GETFD) < 0) {
    return failed("was announced as passed in, but is not open");
  }
  const int family = socket_option(descriptor, SO_DOMAIN);
  if (socket_option(descriptor, SO_ACCEPTCONN) != 1 || socket_option(descriptor, SO_TYPE) != SOCK_STREAM ||
      (family != AF_INET && family != AF_INET6 && family != AF_UNIX)) {
    return failed("is not a listening stream socket");
  }
  const int flags = fcntl(descriptor, F_GETFL);
  if (flags < 0 || fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) != 0 ||
      fcntl(descriptor, F_SETFD, FD_CLOEXEC) != 0) {
    return failed(std::strerror(errno));
  }
  ListenSocket inherited{descriptor};
  inherited.address_ = address_of(descriptor);
  return inherited;
}

ListenSocket::ListenSocket(ListenSocket&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      address_(std::move(other.address_)),
      tls_(std::move(other.tls_)),
      owns_file_(std::exchange(other.owns_file_, false)),
      file_device_(other.file_device_),
      file_number_(other.file_number_) {}

ListenSocket::~ListenSocket() {
  remove_file();
  if (descriptor_ >= 0) {
    close(descriptor_);
  }
}

void ListenSocket::remove_file() noexcept {
  struct stat file{};
  if (std::exchange(owns_file_, false) && lstat(address_.path.c_str(), &file) == 0 &&
      file.st_dev == file_device_ && file.st_ino == file_number_) {
    unlink(address_.path.c_str());
  }
}

}  // namespace mxkv::server
