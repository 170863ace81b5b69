#include "bench/client/server_watch.hpp"

#include <cstdio>
#include <utility>

namespace mxkv::bench {
namespace {

StatisticsDialect dialect_of(ServerKind kind) noexcept {
  switch (kind) {
    case ServerKind::mxkv:
    case ServerKind::memcached:
      return StatisticsDialect::memcached;
    case ServerKind::redis:
    case ServerKind::redis_lex:
      return StatisticsDialect::redis;
    case ServerKind::echo:
      break;
  }
  return StatisticsDialect::none;
}

}  // namespace

ServerWatch::ServerWatch(const Options& options)
    : server_(options.server),
      dialect_(options.server_counters ? dialect_of(options.server_kind) : StatisticsDialect::none) {}

void ServerWatch::look_before() {
  before_ = look();
}

void ServerWatch::look_after(RunResult& result) {
  const auto after = before_ ? look() : std::nullopt;
  if (after) {
    result.servers.push_back(facts_between(server_, dialect_, *before_, *after));
  }
}

std::optional<ServerLook> ServerWatch::look() const {
  if (dialect_ == StatisticsDialect::none) {
    return std::nullopt;
  }
  auto seen = look_at_server(server_, dialect_);
  if (!seen) {
    std::fprintf(stderr, "mxkv-ycsb: warning: the server's counters cannot be read: %s\n",
                 seen.error().message.c_str());
    return std::nullopt;
  }
  return std::move(seen).value();
}

}  // namespace mxkv::bench
