// memory: the server's use of memory, and its verdict on that.
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/App.hpp>

#include "protocol/clients/cli/commands/command.hpp"
#include "protocol/clients/cli/commands/json_text.hpp"
#include "protocol/clients/cli/text/amounts.hpp"
#include "protocol/clients/cli/wire/stats_reply.hpp"
#include "runtime/base/command_line.hpp"

namespace mxkv::cli {
namespace {

constexpr std::array<std::string_view, 7> kParts{"limit",  "used",    "items",  "index",
                                                 "output", "buffers", "retired"};
constexpr std::string_view kVerdict = "verdict:";

std::vector<std::pair<std::string, double>> parts_of(const Stats& memory, const Stats& counters) {
  std::vector<std::pair<std::string, double>> parts;
  for (const std::string_view name : kParts) {
    parts.emplace_back(name, memory.number(std::string{name}));
  }
  parts.emplace_back("expired", counters.number("expired_present_bytes"));
  return parts;
}

std::vector<std::string> verdict_of(const Stats& memory) {
  std::vector<std::string> sentences;
  for (const auto& [name, value] : memory.entries()) {
    if (name.starts_with(kVerdict)) {
      sentences.push_back(value);
    }
  }
  return sentences;
}

Outcome run_memory(Session& session) {
  Connection& server = session.connection();
  const Stats memory = read_stats(server, "memory");
  const auto parts = parts_of(memory, read_stats(server, ""));
  const std::vector<std::string> verdict = verdict_of(memory);
  if (session.json()) {
    Json document = Json::object();
    for (const auto& [name, value] : parts) {
      document[name] = static_cast<std::uint64_t>(value);
    }
    document["verdict"] = verdict;
    print_json(session, document);
    return Outcome::done;
  }
  std::vector<std::vector<std::string>> rows;
  for (const auto& [name, value] : parts) {
    rows.push_back({name == "expired" ? "expired (estimate)" : name, bytes_text(value)});
  }
  session.print(table_text(rows));
  for (const std::string& sentence : verdict) {
    session.print_line(sentence);
  }
  return Outcome::done;
}

}  // namespace

Action declare_memory(CLI::App& /*app*/) {
  return run_memory;
}

}  // namespace mxkv::cli
