// mxkvd: the server's process.
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <utility>
#include <variant>

#include "runtime/base/standard_streams.hpp"
#include "server/daemon/command_line.hpp"
#include "server/daemon/crash_report.hpp"
#include "server/daemon/daemon.hpp"
#include "server/daemon/paths.hpp"

namespace {

using namespace mxkv::server;
using mxkv::config::DaemonOptions;
using mxkv::runtime::Result;

/// Reads flags and file again, from the directory where the process was started.
Reread reread_of(int count, char** arguments, const std::filesystem::path& directory, bool daemonize) {
  return [=]() -> Result<DaemonOptions> {
    auto parsed = parse_command_line(count, arguments, directory);
    if (!parsed) {
      return parsed.error();
    }
    DaemonOptions options = std::get<DaemonOptions>(std::move(parsed).value());
    if (daemonize) {
      make_absolute(options, directory);
    }
    return options;
  };
}

int run(DaemonOptions options, int count, char** arguments) {
  Start start{.passed = {}, .background = {}, .reread = {}, .process = getpid()};
  Result<std::vector<PassedSocket>> passed = take_passed_sockets();
  if (!passed) {
    return complain(kExitWrongOptions, passed.error().message.c_str());
  }
  start.passed = std::move(passed).value();
  const bool daemonize = options.server.daemonize;
  std::error_code unknown;
  const std::filesystem::path directory = std::filesystem::current_path(unknown);
  start.reread = reread_of(count, arguments, directory, daemonize);
  if (daemonize) {
    make_absolute(options, directory);
    std::vector<int> kept;
    for (const PassedSocket& socket : start.passed) {
      kept.push_back(socket.socket.descriptor());
    }
    if (const std::optional<int> code = start.background.enter(kept)) {
      return *code;
    }
  }
  const int code = run_daemon(options, start);
  start.background.ends(code);
  return code;
}

/// Serves, or runs another command. Returns the exit code.
struct Answer {
  int count;
  char** arguments;

  int operator()(DaemonOptions& options) const { return run(std::move(options), count, arguments); }
  int operator()(const Information& information) const {
    std::fputs(information.text.c_str(), stdout);
    return kExitOk;
  }
  template <class Command>
  int operator()(const Command& command) const {
    return run_command(command);
  }
};

}  // namespace

int main(int count, char** arguments) {
  mxkv::runtime::open_standard_streams();
  report_crashes();
  auto parsed = parse_command_line(count, arguments);
  if (!parsed) {
    return complain(kExitWrongOptions, parsed.error().message.c_str());
  }
  return std::visit(Answer{count, arguments}, parsed.value());
}
