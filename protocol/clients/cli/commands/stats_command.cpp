// stats, ping: the server's counters, and whether it answers.
#include <chrono>
#include <memory>

#include <CLI/App.hpp>

#include "protocol/clients/cli/commands/command.hpp"
#include "protocol/clients/cli/commands/json_text.hpp"
#include "protocol/clients/cli/text/amounts.hpp"
#include "protocol/clients/cli/wire/stats_reply.hpp"
#include "protocol/command_table.hpp"
#include "runtime/base/command_line.hpp"

namespace mxkv::cli {
namespace {

Outcome run_stats(Session& session, const std::string& group) {
  const Stats stats = read_stats(session.connection(), group);
  if (session.json()) {
    Json document = Json::object();
    for (const auto& [name, value] : stats.entries()) {
      document[name] = json_word(value);
    }
    print_json(session, document);
    return Outcome::done;
  }
  for (const auto& [name, value] : stats.entries()) {
    session.print_line(name + " " + value);
  }
  return Outcome::done;
}

Outcome run_ping(Session& session) {
  const auto before = std::chrono::steady_clock::now();
  const std::string answer = session.ask(std::string(protocol::name_of(protocol::verb::version)));
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - before;
  constexpr std::string_view kVersion = "VERSION ";
  if (!answer.starts_with(kVersion)) {
    throw_refusal(answer);
  }
  const std::string version = answer.substr(kVersion.size());
  if (session.json()) {
    Json document = Json::object();
    document["server"] = session.connection().server();
    document["version"] = version;
    document["micros"] = took.count();
    print_json(session, document);
  } else {
    session.print_line(session.connection().server() + " " + version + " " + micros_text(took.count()));
  }
  return Outcome::done;
}

}  // namespace

Action declare_stats(CLI::App& app) {
  const auto group = std::make_shared<std::string>();
  app.add_option("GROUP", *group, std::string(kStatsGroups));
  return [group](Session& session) { return run_stats(session, *group); };
}

Action declare_ping(CLI::App& /*app*/) {
  return run_ping;
}

}  // namespace mxkv::cli
