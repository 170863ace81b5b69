// latency, hot, slow: what the server's sample of requests tells, as tables.
#include <chrono>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "protocol/clients/cli/commands/command.hpp"
#include "protocol/clients/cli/commands/json_text.hpp"
#include "protocol/clients/cli/commands/live.hpp"
#include "protocol/clients/cli/text/amounts.hpp"
#include "protocol/clients/cli/wire/stats_reply.hpp"
#include "runtime/base/readable.hpp"

namespace mxkv::cli {
namespace {

using Rows = std::vector<std::vector<std::string>>;

const std::vector<std::string>& quantiles() {
  static const std::vector<std::string> names{"p50", "p90", "p99", "p99.9", "p99.99", "max"};
  return names;
}

/// The commands of which there are samples, in the order of the answer.
std::vector<std::string> sampled_commands(const Stats& stats) {
  std::vector<std::string> commands;
  for (const auto& [name, value] : stats.entries()) {
    if (const std::size_t colon = name.find(":samples"); colon != std::string::npos &&
                                                         name.rfind(':') == colon &&
                                                         !name.starts_with("worker:") && value != "0") {
      commands.push_back(name.substr(0, colon));
    }
  }
  return commands;
}

void show_latency(Session& session, const Stats& stats) {
  const std::vector<std::string> commands = sampled_commands(stats);
  if (session.json()) {
    Json document = Json::object();
    document["sampled_one_in"] = json_word(stats.text("sampled_one_in"));
    for (const std::string& command : commands) {
      Json& of_command = document["commands"][command] = Json::object();
      of_command["samples"] = json_word(stats.text(command + ":samples"));
      for (const std::string& quantile : quantiles()) {
        of_command[quantile + "_ns"] = json_word(stats.text(command + ":" + quantile + "_ns"));
      }
    }
    print_json(session, document);
    return;
  }
  Rows rows{{"command", "samples"}};
  rows[0].insert(rows[0].end(), quantiles().begin(), quantiles().end());
  for (const std::string& command : commands) {
    std::vector<std::string>& row = rows.emplace_back();
    row = {command, count_text(stats.number(command + ":samples"))};
    for (const std::string& quantile : quantiles()) {
      row.push_back(micros_text(stats.number(command + ":" + quantile + "_ns") / 1000));
    }
  }
  session.print(table_text(rows));
  session.print_line("one of every " + std::string(stats.text("sampled_one_in")) + " requests is timed");
}

/// Lines `STAT <group>:<name> <value>`, by group.
Outcome run_slow(Session& session) {
  const Stats stats = read_stats(session.connection(), "slow");
  std::vector<std::string> order;
  std::map<std::string, Json> groups;
  for (const auto& [name, value] : stats.entries()) {
    const std::size_t colon = name.rfind(':');
    const std::string group = name.substr(0, std::min(colon, name.size()));
    auto [at, is_new] = groups.try_emplace(group, Json::object());
    if (is_new) {
      order.push_back(group);
    }
    at->second[colon == std::string::npos ? name : name.substr(colon + 1)] = json_word(value);
  }
  for (const std::string& group : order) {
    const Json& request = groups[group];
    if (session.json()) {
      print_json(session, request);
      continue;
    }
    std::string line;
    for (const auto& [name, value] : request.items()) {
      const bool took = name == "took_ns" && value.is_number();
      line += (line.empty() ? "" : "  ") + (took ? "took" : name) + " " +
              (took                ? micros_text(value.get<double>() / 1000)
               : value.is_string() ? value.get<std::string>()
                                   : value.dump());
    }
    session.print_line(line);
  }
  if (order.empty() && !session.json()) {
    const Stats settings = read_stats(session.connection(), "settings");
    session.print_line("no request was slower than " + std::string(settings.text("stats_slow_ms")) +
                       " ms (of those that are timed)");
  }
  return Outcome::done;
}

/// Lines `STAT key:<key> <times> <more at most>` and `range:<prefix>`.
Outcome run_hot(Session& session) {
  const Stats stats = read_stats(session.connection(), "hot");
  Rows rows{{"key", "requests at least", "more at most"}};
  for (const auto& [name, value] : stats.entries()) {
    // The key may have spaces' worth of words behind it: the numbers are the last ones.
    const std::size_t space = std::min(value.find(' '), value.size());
    const std::string more = value.substr(std::min(space + 1, value.size()));
    if (!session.json()) {
      rows.push_back(
          {runtime::readable(name), value.substr(0, space), more});  // escaped, so that columns fit
      continue;
    }
    Json document = Json::object();
    const std::size_t colon = name.find(':');
    document["kind"] = name.substr(0, std::min(colon, name.size()));
    document["key"] = json_bytes(std::string_view(name).substr(std::min(colon + 1, name.size())));
    document["at_least"] = json_word(value.substr(0, space));
    if (!more.empty()) {
      document["more_at_most"] = json_word(more);
    }
    print_json(session, document);
  }
  if (!session.json()) {
    session.print(rows.size() == 1 ? std::string("no key is hot\n") : table_text(rows));
  }
  return Outcome::done;
}

struct LatencyArguments {
  bool live = false;
  LiveOptions options{};
};

/// The server's quantiles are of its whole life, or since `stats reset`; by interval, of those it is asked to forget.
Outcome run_latency(Session& session, const LatencyArguments& arguments) {
  if (!arguments.live) {
    show_latency(session, read_stats(session.connection(), "latency"));
    return Outcome::done;
  }
  return run_live(session, arguments.options, [](Session& live) {
    const Stats stats = read_stats(live.connection(), "latency");
    show_latency(live, stats);
    static_cast<void>(read_stats(live.connection(), "reset"));
  });
}

}  // namespace

Action declare_latency(CLI::App& app) {
  const auto arguments = std::make_shared<LatencyArguments>();
  app.add_flag("--live", arguments->live,
               "Again and again, of each interval: this resets the server's counters (stats reset)");
  add_live_options(app, arguments->options);
  return [arguments](Session& session) { return run_latency(session, *arguments); };
}

Action declare_hot(CLI::App& /*app*/) {
  return run_hot;
}
Action declare_slow(CLI::App& /*app*/) {
  return run_slow;
}

}  // namespace mxkv::cli
