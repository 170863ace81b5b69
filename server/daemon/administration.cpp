#include "server/daemon/administration.hpp"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>

#include "protocol/reply.hpp"
#include "server/net/connection/client_commands.hpp"
#include "server/net/observe/connection_facts.hpp"

namespace mxkv::server {

using protocol::verb;

namespace {
constexpr std::uint64_t kBytesPerMiB = std::uint64_t{1} << 20U;
constexpr std::uint64_t kLeastMiB = 16;  // as memory.limit
}  // namespace

Administration::Administration(runtime::Runtime& runtime, Statistics& statistics, Log& log,
                               runtime::SteeredClock* clock, const config::ServerOptions& options,
                               ConfigInbox& inbox)
    : runtime_(runtime),
      statistics_(statistics),
      log_(log),
      clock_(clock),
      inbox_(inbox),
      shutdown_allowed_(options.shutdown_command),
      greatest_limit_(2 * std::min(runtime.budget().limit_bytes(), SIZE_MAX / 2)) {}

std::string Administration::run(const protocol::Request& request, AdminCursor& cursor) {
  switch (request.op) {
    case verb::stats:
      return statistics_.text(request.argument, cursor);
    case verb::client:
      return client_command(request.argument, cursor);
    case verb::verbosity:
      return set_verbosity(request.verbosity);
    case verb::cache_memlimit:
      return set_memory_limit(request.mebibytes);
    case verb::shutdown:
      return shut_down(request);
    case verb::debugtime:
      return steer_clock(request);
    default:
      return std::string{protocol::kError};
  }
}

std::string Administration::client_command(std::string_view argument, AdminCursor& cursor) {
  ClientTable& clients = network_->clients();
  if (argument.starts_with("list")) {
    return list_clients(clients, runtime_.clock().monotonic_ns(), cursor);
  }
  const std::string_view which = protocol::word_behind(argument);
  kill_clients(clients, which, cursor);
  const std::size_t killed = cursor.found;
  if (cursor.more || killed == 0) {
    return cursor.more ? std::string{} : std::string{protocol::kNotFound};
  }
  log_.info("client kill " + in_quotes(which) + ": " + std::to_string(killed) +
            (killed == 1 ? " connection" : " connections"));
  return "OK " + std::to_string(killed) + "\r\n";
}

bool Administration::configure(const protocol::Request& request, const std::string& client,
                               const ReplyAddress& address) {
  inbox_.put({.asks = request.op,
              .path = std::string{request.argument},
              .value = std::string{request.setting},
              .client = client,
              .address = address});
  return true;
}

std::string Administration::set_verbosity(std::uint64_t level) {
  log_.set_verbosity(level);
  statistics_.note_verbosity(level);
  return std::string{protocol::kOk};
}

std::string Administration::set_memory_limit(std::uint64_t mebibytes) {
  if (mebibytes < kLeastMiB) {
    return "MEMLIMIT_TOO_SMALL cannot set maxbytes to less than " + std::to_string(kLeastMiB) + "m\r\n";
  }
  const std::uint64_t bytes = mebibytes * kBytesPerMiB;
  if (bytes > greatest_limit_) {
    return "MEMLIMIT_ADJUST_FAILED at most " + std::to_string(greatest_limit_ / kBytesPerMiB) +
           "m: twice the limit at the start\r\n";
  }
  runtime_.budget().set_limit_bytes(bytes);
  log_.info("cache_memlimit: the memory limit is now " + std::to_string(mebibytes) + "MiB");
  return std::string{protocol::kOk};
}

// Sends the signal as from outside: the main thread, which waits for signals, drains and ends. No handler
// runs.
std::string Administration::shut_down(const protocol::Request& request) {
  if (!shutdown_allowed_.load(std::memory_order_relaxed)) {
    return std::string{protocol::kShutdownOff};
  }
  if (!request.shutdown_known) {
    return std::string{protocol::kBadShutdown};
  }
  log_.info("shutdown: a client asked for it");
  kill(getpid(), request.argument.empty() ? SIGINT : SIGUSR1);
  return {};
}

std::string Administration::steer_clock(const protocol::Request& request) {
  if (clock_ == nullptr) {
    return std::string{protocol::kError};
  }
  if (request.argument == "p") {
    clock_->stop();
  } else if (request.argument == "r") {
    clock_->go_on();
  } else {
    clock_->move_s(request.exptime);
  }
  return std::string{protocol::kOk};
}

}  // namespace mxkv::server
