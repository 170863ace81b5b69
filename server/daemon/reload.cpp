#include "server/daemon/reload.hpp"

#include <algorithm>
#include <array>

#include "config/describe.hpp"

namespace mxkv::server {

namespace {

/// Removes and returns the next "path = value" of `text`.
std::pair<std::string, std::string> next_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  const std::size_t equals = line.find(" = ");
  return {std::string{line.substr(0, equals)}, std::string{line.substr(equals + 3)}};
}

}  // namespace

bool changes_while_running(std::string_view path) {
  static constexpr std::array<std::string_view, 13> kKeys{"spin_rounds",
                                                          "admin.listeners",
                                                          "memory.limit",
                                                          "memory.when_full",
                                                          "memory.evict_for",
                                                          "memory.evacuation",
                                                          "prefixes",
                                                          "durability.sync",
                                                          "durability.reads",
                                                          "server.drain_timeout",
                                                          "server.shutdown_command",
                                                          "server.balance",
                                                          "server.accept"};
  return path.starts_with("limits.") || path.starts_with("stats.") || path.starts_with("log.") ||
         path.starts_with("durability.checkpoint.") || std::ranges::find(kKeys, path) != kKeys.end();
}

std::vector<Change> changes(const config::DaemonOptions& running, const config::DaemonOptions& wanted) {
  // The same schema wrote both, so they have the same keys in the same order.
  const std::string before = config::describe(running);
  const std::string after = config::describe(wanted);
  std::vector<Change> found;
  std::string_view rest_before = before;
  std::string_view rest_after = after;
  while (!rest_before.empty() && !rest_after.empty()) {
    auto [path, old_value] = next_line(rest_before);
    auto [same_path, new_value] = next_line(rest_after);
    if (old_value != new_value) {
      found.push_back({std::move(path), std::move(old_value), std::move(new_value)});
    }
  }
  return found;
}

}  // namespace mxkv::server
