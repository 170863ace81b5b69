#include "server/daemon/notify.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <ctime>

#include "config/parse.hpp"

namespace mxkv::server {

namespace {

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

Notifier Notifier::from_environment() {
  return Notifier{variable("NOTIFY_SOCKET")};
}

bool Notifier::ready() const {
  return send("READY=1\nMAINPID=" + std::to_string(getpid()));
}

bool Notifier::reloading() const {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const long long us = static_cast<long long>(now.tv_sec) * 1'000'000 + now.tv_nsec / 1000;
  return send("RELOADING=1\nMONOTONIC_USEC=" + std::to_string(us));
}

bool Notifier::stopping() const {
  return send("STOPPING=1");
}

bool Notifier::send(std::string_view assignments) const {
  if (socket_.empty()) {
    return true;
  }
  sockaddr_un address{};
  if ((socket_.front() != '/' && socket_.front() != '@') || socket_.size() >= sizeof address.sun_path) {
    return false;
  }
  address.sun_family = AF_UNIX;
  socket_.copy(address.sun_path, socket_.size());
  if (socket_.front() == '@') {
    address.sun_path[0] = '\0';
  }
  // An abstract name ends where the address does.
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size() +
                                            (socket_.front() == '/' ? 1U : 0U));
  const int descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) {
    return false;
  }
  const ssize_t sent = sendto(descriptor, assignments.data(), assignments.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
                              reinterpret_cast<const sockaddr*>(&address), bytes);
  close(descriptor);
  return sent == static_cast<ssize_t>(assignments.size());
}

std::optional<std::chrono::microseconds> watchdog_period(long process, long started_as) {
  const auto number = [](const char* name) -> std::uint64_t {
    const runtime::Result<std::uint64_t> value = config::parse_number(variable(name));
    return value ? value.value() : 0;
  };
  const std::uint64_t meant = number("WATCHDOG_PID");
  const std::uint64_t period = number("WATCHDOG_USEC");
  constexpr std::uint64_t kMostUs = 86'400'000'000;  // a day
  const bool us = meant == 0 || meant == static_cast<std::uint64_t>(process) ||
                  meant == static_cast<std::uint64_t>(started_as);
  if (period == 0 || period > kMostUs || !us) {
    return std::nullopt;
  }
  return std::chrono::microseconds{period};
}

}  // namespace mxkv::server
