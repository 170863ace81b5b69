// watch: the server's log of what happens to items and connections, until Ctrl-C.
#include <chrono>
#include <memory>
#include <vector>

#include <CLI/App.hpp>

#include "protocol/clients/cli/commands/command.hpp"
#include "protocol/clients/cli/commands/json_text.hpp"
#include "protocol/clients/cli/interrupt.hpp"
#include "protocol/command_table.hpp"
#include "runtime/base/command_line.hpp"

namespace mxkv::cli {
namespace {

struct WatchArguments {
  std::vector<std::string> streams;
  std::uint64_t lines = UINT64_MAX;
  double seconds = 0;
};

Outcome run_watch(Session& session, const WatchArguments& arguments) {
  // A connection that runs watch takes no more commands, so it is a connection of its own.
  const auto server = session.another();
  std::string request(protocol::name_of(protocol::verb::watch));
  for (const std::string& stream : arguments.streams) {
    request += ' ' + stream;
  }
  server->send(request + "\r\n");
  if (const std::string_view answer = server->line(); answer != "OK") {
    throw_refusal(answer);
  }
  const auto begin = std::chrono::steady_clock::now();
  const std::chrono::duration<double> most(arguments.seconds);
  for (std::uint64_t seen = 0; seen < arguments.lines;) {
    session.flush();
    if (arguments.seconds > 0 && std::chrono::steady_clock::now() - begin >= most) {
      break;
    }
    check_interrupt();
    if (!server->wait(Milliseconds(200))) {
      continue;
    }
    const std::string line(server->line());
    ++seen;
    if (session.json()) {
      print_json(session, object_of_words(line));
    } else {
      session.print_line(line);
    }
  }
  return Outcome::done;
}

}  // namespace

Action declare_watch(CLI::App& app) {
  const auto arguments = std::make_shared<WatchArguments>();
  app.add_option("STREAM", arguments->streams, std::string(kWatchStreams));
  app.add_option("--lines", arguments->lines, "Stop after this many lines")->type_name("N");
  app.add_option("--for", arguments->seconds, "Stop after this many seconds")->type_name("SECONDS");
  return [arguments](Session& session) { return run_watch(session, *arguments); };
}

}  // namespace mxkv::cli
