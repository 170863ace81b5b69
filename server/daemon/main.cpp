// mxkvd: the server's process.
#include <cstdio>
#include <variant>

#include "server/daemon/command_line.hpp"
#include "server/daemon/daemon.hpp"

int main(int count, char** arguments) {
  using namespace mxkv::server;
  const auto parsed = parse_command_line(count, arguments);
  if (!parsed) {
    return complain(kExitWrongOptions, parsed.error().message.c_str());
  }
  if (const auto* information = std::get_if<Information>(&parsed.value())) {
    std::fputs(information->text.c_str(), stdout);
    return kExitOk;
  }
  return run_daemon(std::get<mxkv::config::DaemonOptions>(parsed.value()));
}
