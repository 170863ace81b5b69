#include "protocol/clients/cli/wire/stats_reply.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "protocol/clients/cli/failure.hpp"
#include "protocol/command_table.hpp"

namespace mxkv::cli {

std::string_view Stats::text(std::string_view name) const noexcept {
  const auto found = std::ranges::find(entries_, name, &Entry::first);
  return found == entries_.end() ? std::string_view() : std::string_view(found->second);
}

double Stats::number(std::string_view name) const noexcept {
  return std::strtod(std::string(text(name)).c_str(), nullptr);
}

bool Stats::has(std::string_view name) const noexcept {
  return std::ranges::find(entries_, name, &Entry::first) != entries_.end();
}

Stats read_stats(Connection& server, const std::string& group) {
  const std::string request(protocol::name_of(protocol::verb::stats));
  server.send(group.empty() ? request + "\r\n" : request + ' ' + group + "\r\n");
  Stats stats;
  for (;;) {
    std::string_view line = server.line();
    constexpr std::string_view kStat = "STAT ";
    if (!line.starts_with(kStat)) {
      if (line == "END" || line == "RESET" || line == "OK") {
        return stats;
      }
      if (line == "ERROR" && !group.empty()) {
        throw Failure(Outcome::refused,
                      "the server has no statistics " + group + "; stats --help lists the groups");
      }
      throw_refusal(line);
    }
    line.remove_prefix(kStat.size());
    const std::size_t space = std::min(line.find(' '), line.size());
    stats.add(std::string(line.substr(0, space)), std::string(line.substr(std::min(space + 1, line.size()))));
  }
}

}  // namespace mxkv::cli
