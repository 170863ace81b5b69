#include "bench/report/server_probe.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <time.h>

#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <optional>

#include "bench/client/units.hpp"
#include "bench/report/clocks.hpp"

namespace mxkv::bench {
namespace {

constexpr int kPatienceMs = 5000;
constexpr std::size_t kMostReplyBytes = std::size_t{1} << 20;
// Counters may be a clock tick or two behind the process's clock.
constexpr std::uint64_t kTicksNs = 50 * kNsPerMs;

std::string text_of(const Counters& counters, const std::string& name) {
  const auto found = counters.find(name);
  return found != counters.end() ? found->second : std::string();
}

double number_of(const Counters& counters, const std::string& name) {
  const std::string text = text_of(counters, name);
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::string_view request_of(StatisticsDialect dialect) noexcept {
  return dialect == StatisticsDialect::redis ? "INFO\r\nQUIT\r\n" : "stats\r\nquit\r\n";
}

bool wait_for(const Socket& socket, short events) noexcept {
  pollfd watched{socket.descriptor(), events, 0};
  return ::poll(&watched, 1, kPatienceMs) > 0;
}

/// The server's whole answer until it closes.
std::optional<std::string> ask(const Socket& socket, std::string_view request) {
  while (!request.empty()) {
    if (!wait_for(socket, POLLOUT)) {
      return std::nullopt;
    }
    const Socket::Transfer sent = socket.send(request.data(), request.size());
    if (sent.status == Socket::Status::closed) {
      return std::nullopt;
    }
    request.remove_prefix(sent.bytes);
  }
  std::string reply;
  std::array<char, 16384> bytes;
  while (reply.size() < kMostReplyBytes) {
    if (!wait_for(socket, POLLIN)) {
      return std::nullopt;
    }
    const Socket::Transfer received = socket.receive(bytes.data(), bytes.size());
    if (received.status == Socket::Status::closed) {
      return reply;
    }
    reply.append(bytes.data(), received.bytes);
  }
  return std::nullopt;
}

/// The part of an address that names a machine.
std::string machine_part(const sockaddr_storage& address) {
  const char* const bytes = reinterpret_cast<const char*>(&address);
  if (address.ss_family == AF_INET) {
    return {bytes + 4, 4};
  }
  return address.ss_family == AF_INET6 ? std::string(bytes + 8, 16) : std::string();
}

/// Whether both ends have the same address, so that they are on one machine.
bool is_here(const Socket& socket) noexcept {
  sockaddr_storage own{};
  sockaddr_storage peer{};
  socklen_t own_length = sizeof own;
  socklen_t peer_length = sizeof peer;
  if (::getsockname(socket.descriptor(), reinterpret_cast<sockaddr*>(&own), &own_length) != 0 ||
      ::getpeername(socket.descriptor(), reinterpret_cast<sockaddr*>(&peer), &peer_length) != 0) {
    return false;
  }
  return own.ss_family == AF_UNIX || machine_part(own) == machine_part(peer);
}

std::uint64_t cpu_ns_of_process(std::uint64_t pid) noexcept {
  clockid_t clock{};
  timespec time{};
  if (pid == 0 || ::clock_getcpuclockid(static_cast<pid_t>(pid), &clock) != 0 ||
      ::clock_gettime(clock, &time) != 0) {
    return 0;
  }
  return static_cast<std::uint64_t>(time.tv_sec) * kNsPerS + static_cast<std::uint64_t>(time.tv_nsec);
}

}  // namespace

Counters parse_statistics(StatisticsDialect dialect, std::string_view reply) {
  Counters counters;
  while (!reply.empty()) {
    const std::size_t end = std::min(reply.find("\r\n"), reply.size());
    std::string_view line = reply.substr(0, end);
    reply.remove_prefix(std::min(end + 2, reply.size()));
    if (dialect == StatisticsDialect::memcached) {
      if (!line.starts_with("STAT ")) {
        continue;
      }
      line.remove_prefix(std::strlen("STAT "));
    }
    const std::size_t cut = line.find(dialect == StatisticsDialect::redis ? ':' : ' ');
    if (cut != std::string_view::npos && cut > 0 && line.front() != '#') {
      counters.emplace(line.substr(0, cut), line.substr(cut + 1));
    }
  }
  return counters;
}

std::uint64_t counted_cpu_ns(StatisticsDialect dialect, const Counters& counters) {
  const bool redis = dialect == StatisticsDialect::redis;
  const double seconds = redis ? number_of(counters, "used_cpu_user") + number_of(counters, "used_cpu_sys")
                               : number_of(counters, "rusage_user") + number_of(counters, "rusage_system");
  return seconds > 0 ? static_cast<std::uint64_t>(std::llround(seconds * 1e9)) : 0;
}

runtime::Result<ServerLook> look_at_server(const Endpoint& server, StatisticsDialect dialect) {
  auto socket = connect_to(server);
  if (!socket) {
    return socket.error();
  }
  const auto reply = ask(socket.value(), request_of(dialect));
  if (!reply) {
    return runtime::Error{"the server did not send its statistics"};
  }
  ServerLook look;
  look.counters = parse_statistics(dialect, *reply);
  if (look.counters.empty()) {
    return runtime::Error{"the server has no statistics"};
  }
  look.unix_ms = unix_ms();
  look.counted_cpu_ns = counted_cpu_ns(dialect, look.counters);
  const auto pid = static_cast<std::uint64_t>(
      number_of(look.counters, dialect == StatisticsDialect::redis ? "process_id" : "pid"));
  if (is_here(socket.value())) {
    look.process_cpu_ns = cpu_ns_of_process(pid);
    const std::uint64_t tolerance = kTicksNs + look.process_cpu_ns / 100;
    const std::uint64_t off = look.process_cpu_ns > look.counted_cpu_ns
                                  ? look.process_cpu_ns - look.counted_cpu_ns
                                  : look.counted_cpu_ns - look.process_cpu_ns;
    look.pid = look.process_cpu_ns != 0 && off <= tolerance ? pid : 0;
  }
  return look;
}

ServerFacts facts_between(const Endpoint& server, StatisticsDialect dialect, const ServerLook& before,
                          const ServerLook& after) {
  ServerFacts facts;
  facts.address = text_of(server);
  facts.version = text_of(after.counters, dialect == StatisticsDialect::redis ? "redis_version" : "version");
  facts.before_unix_ms = before.unix_ms;
  facts.after_unix_ms = after.unix_ms;
  facts.before = before.counters;
  facts.after = after.counters;
  if (before.pid != 0 && before.pid == after.pid) {
    facts.cpu_source = "process";
    facts.pid = before.pid;
    facts.cpu_before_ns = before.process_cpu_ns;
    facts.cpu_after_ns = after.process_cpu_ns;
  } else if (before.counted_cpu_ns != 0 || after.counted_cpu_ns != 0) {
    facts.cpu_source = "counters";
    facts.cpu_before_ns = before.counted_cpu_ns;
    facts.cpu_after_ns = after.counted_cpu_ns;
  }
  return facts;
}

}  // namespace mxkv::bench
