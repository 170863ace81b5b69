// prefixes: memory, evictions and hit ratio by configured prefix.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/App.hpp>

#include "protocol/clients/cli/commands/command.hpp"
#include "protocol/clients/cli/commands/json_text.hpp"
#include "protocol/clients/cli/text/amounts.hpp"
#include "protocol/clients/cli/wire/stats_reply.hpp"
#include "runtime/base/command_line.hpp"

namespace mxkv::cli {
namespace {

/// The statistics of a prefix, and the heads of their columns.
struct Column {
  std::string_view name;
  std::string_view head;
  bool bytes = false;
};
constexpr std::array kColumns{
    Column{"items", "items"},
    Column{"memory", "memory", true},
    Column{"limit", "limit", true},
    Column{"keep", "keep", true},
    Column{"sets", "sets"},
    Column{"evictions", "evictions"},
    Column{"evicted_unfetched", "unread"},
    Column{"refused", "refused"},
};

/// Of the gets of the sample; "-": there was none.
std::string hit_ratio(const Stats& stats, const std::string& before) {
  const double hits = stats.number(before + "sampled_hits");
  const double gets = hits + stats.number(before + "sampled_misses");
  return gets == 0 ? "-" : std::to_string(std::lround(100 * hits / gets)) + " %";
}

Outcome run_prefixes(Session& session) {
  const Stats stats = read_stats(session.connection(), "prefixes");
  std::vector<std::vector<std::string>> rows{{"prefix"}};
  std::ranges::transform(kColumns, std::back_inserter(rows.front()),
                         [](const Column& column) { return std::string{column.head}; });
  rows.front().emplace_back("hits");
  for (std::size_t n = 1; stats.has(std::to_string(n) + ":prefix"); ++n) {
    const std::string before = std::to_string(n) + ":";
    const std::string prefix{stats.text(before + "prefix")};
    if (session.json()) {
      Json document{{"prefix", prefix}, {"when_full", std::string{stats.text(before + "when_full")}}};
      for (const Column& column : kColumns) {
        document[std::string{column.name}] =
            static_cast<std::uint64_t>(stats.number(before + std::string{column.name}));
      }
      for (const char* const name : {"sampled_hits", "sampled_misses"}) {
        document[name] = static_cast<std::uint64_t>(stats.number(before + name));
      }
      print_json(session, document);
      continue;
    }
    std::vector<std::string>& row = rows.emplace_back();
    row.push_back(prefix);
    for (const Column& column : kColumns) {
      const double value = stats.number(before + std::string{column.name});
      const bool is_none = value == 0 && (column.name == "limit" || column.name == "keep");
      row.push_back(is_none ? "none" : column.bytes ? bytes_text(value) : count_text(value));
    }
    row.push_back(hit_ratio(stats, before));
  }
  if (session.json()) {
    return Outcome::done;
  }
  if (rows.size() == 1) {
    session.print_line("the server has no prefixes: see prefixes in its configuration");
    return Outcome::done;
  }
  session.print(table_text(rows));
  return Outcome::done;
}

}  // namespace

Action declare_prefixes(CLI::App& /*app*/) {
  return run_prefixes;
}

}  // namespace mxkv::cli
