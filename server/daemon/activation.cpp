#include "server/daemon/activation.hpp"

#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "config/parse.hpp"

namespace mxkv::server {

namespace {

constexpr int kFirstPassed = 3;
constexpr std::uint64_t kMostPassed = 1024;

std::string take_variable(const char* name) {
  const char* const found = std::getenv(name);
  std::string value = found == nullptr ? "" : found;
  unsetenv(name);
  return value;
}

}  // namespace

runtime::Result<std::vector<PassedSocket>> take_passed_sockets() {
  const std::string process = take_variable("LISTEN_PID");
  const std::string count = take_variable("LISTEN_FDS");
  std::string names = take_variable("LISTEN_FDNAMES");
  std::vector<PassedSocket> sockets;
  if (count.empty() || process != std::to_string(getpid())) {
    return sockets;
  }
  const runtime::Result<std::uint64_t> number = config::parse_number(count);
  if (!number || number.value() > kMostPassed) {
    return runtime::Error{"LISTEN_FDS: \"" + count + "\" is not a number of descriptors (allowed: 0 to " +
                          std::to_string(kMostPassed) + ")"};
  }
  for (std::uint64_t i = 0; i < number.value(); ++i) {
    runtime::Result<ListenSocket> socket = ListenSocket::inherit(kFirstPassed + static_cast<int>(i));
    if (!socket) {
      return socket.error();
    }
    const std::size_t colon = names.find(':');
    sockets.push_back({.socket = std::move(socket).value(), .name = names.substr(0, colon)});
    names = colon == std::string::npos ? "" : names.substr(colon + 1);
  }
  return sockets;
}

}  // namespace mxkv::server
