// latency, hot, slow: the server's sample of requests, as tables.
#include <array>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <map>
#include <memory>
#include <sstream>
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
#include "runtime/base/command_line.hpp"
#include "runtime/base/readable.hpp"

namespace mxkv::cli {
namespace {

using Rows = std::vector<std::vector<std::string>>;

const std::vector<std::string>& quantiles() {
  static const std::vector<std::string> names{"p50", "p90", "p99", "p99.9", "p99.99", "max"};
  return names;
}

/// The commands with samples, in the order of the reply.
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

/// Which requests a table covers.
std::string sample_text(double one_in, const std::string& what_is_done) {
  if (one_in == 0) {
    return "no request is " + what_is_done + ": stats.sample is off";
  }
  return one_in == 1 ? "every request is " + what_is_done
                     : "one request in " + count_text(one_in) + " is " + what_is_done + ", chosen at random";
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
  session.print_line(sample_text(stats.number("sampled_one_in"), "timed"));
  if (const double untimed = stats.number("samples_untimed"); untimed > 0) {
    session.print_line(count_text(untimed) +
                       " more were sampled but not timed, because too many ran at once");
  }
}

/// The local time of a unix time, with its zone.
std::string clock_text(double unix_us) {
  const auto seconds = static_cast<std::time_t>(unix_us / 1e6);
  std::tm parts{};
  std::array<char, 64> text{};
  ::localtime_r(&seconds, &parts);
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S%z", &parts)};
}

/// A slow request for people: when, how long, what, whose.
std::string slow_line(const Json& request) {
  std::string line;
  for (const auto& [name, value] : request.items()) {
    const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    line += line.empty() ? "" : "  ";
    if (name == "time_us" && value.is_number()) {
      line += clock_text(value.get<double>());
    } else if (name == "took_ns" && value.is_number()) {
      line += micros_text(value.get<double>() / 1000);
    } else if (name == "command") {
      line += text;
    } else if (name == "request_bytes" || name == "reply_bytes") {
      line += (name == "request_bytes" ? "in " : "out ") + bytes_text(std::strtod(text.c_str(), nullptr));
    } else {
      line += name + " " + text;
    }
  }
  return line;
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
    session.print_line(slow_line(request));
  }
  if (order.empty() && !session.json()) {
    const Stats settings = read_stats(session.connection(), "settings");
    session.print_line(settings.number("stats_slow_ms") == 0
                           ? "slow requests are not recorded: stats.slow is off"
                           : "no timed request took " + std::string(settings.text("stats_slow_ms")) +
                                 " ms or longer");
    session.print_line(sample_text(settings.number("stats_sample"), "timed"));
  }
  return Outcome::done;
}

/// Lines `STAT key:<key> <about> <at least> <at most>` and `range:<prefix>`.
Outcome run_hot(Session& session) {
  const Stats stats = read_stats(session.connection(), "hot");
  Rows rows{{"key", "requests (estimate)", "at least", "at most"}};
  for (const auto& [name, value] : stats.entries()) {
    std::istringstream words{value};
    std::array<std::string, 3> numbers;
    for (std::string& number : numbers) {
      words >> number;
    }
    if (!session.json()) {
      rows.push_back(
          {runtime::readable(name), numbers[0], numbers[1], numbers[2]});  // escaped, so that columns line up
      continue;
    }
    Json document = Json::object();
    const std::size_t colon = name.find(':');
    document["kind"] = name.substr(0, std::min(colon, name.size()));
    document["key"] = json_bytes(std::string_view(name).substr(std::min(colon + 1, name.size())));
    document["about"] = json_word(numbers[0]);
    document["at_least"] = json_word(numbers[1]);
    document["at_most"] = json_word(numbers[2]);
    print_json(session, document);
  }
  if (!session.json()) {
    const Stats settings = read_stats(session.connection(), "settings");
    session.print(rows.size() == 1 ? std::string("no key is hot\n") : table_text(rows));
    session.print_line("in the last 30 to 60 s; " + sample_text(settings.number("stats_sample"), "counted"));
  }
  return Outcome::done;
}

struct LatencyArguments {
  bool live = false;
  LiveOptions options{};
};

/// The server's percentiles cover its whole life, or the time since `stats reset`; for intervals, reset them each time.
Outcome run_latency(Session& session, const LatencyArguments& arguments) {
  if (!arguments.live) {
    show_latency(session, read_stats(session.connection(), "latency"));
    return Outcome::done;
  }
  static_cast<void>(read_stats(session.connection(), "reset"));
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
               "Repeat for each interval; this resets the server's counters (stats reset)");
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
