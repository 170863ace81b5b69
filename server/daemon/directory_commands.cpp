#include "server/daemon/directory_commands.hpp"

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <string>
#include <string_view>
#include <system_error>

#include "config/options.hpp"
#include "server/daemon/daemon.hpp"
#include "server/durability/backup.hpp"
#include "server/durability/journal_tool.hpp"

namespace mxkv::server {
namespace {

/// Of the journal written by a checkpoint without a server: two groups without records. The disk may be
/// nearly full.
constexpr std::size_t kSmallSegmentBytes = std::size_t{64} << 10U;

/// Standard output. A reader that closes it (`| head`) is no error: nothing more is written.
class Output {
 public:
  Output() { static_cast<void>(std::signal(SIGPIPE, SIG_IGN)); }

  bool print(std::string_view line) {
    if (error_ == 0 && std::fwrite(line.data(), 1, line.size(), stdout) != line.size()) {
      error_ = errno;
    }
    return error_ == 0;
  }
  /// Writes the buffered rest. Returns an errno value if not everything was written, or 0.
  int end() {
    if (error_ == 0 && std::fflush(stdout) != 0) {
      error_ = errno;
    }
    return error_ == EPIPE ? 0 : error_;
  }

 private:
  int error_ = 0;
};

int end_with(Output& output, const ToolOutcome& outcome) {
  using how = ToolOutcome::how;
  if (const int error = output.end()) {
    const std::string text = "standard output: " + std::generic_category().message(error);
    return complain(kExitFailed, text.c_str());
  }
  if (outcome.ended == how::fine) {
    return kExitOk;
  }
  return complain(outcome.ended == how::refused ? kExitWrongOptions : kExitFailed, outcome.complaint.c_str());
}

}  // namespace

int run_command(const JournalCommand& command) {
  Output output;
  const LinePrinter print = [&output](std::string_view line) { return output.print(line); };
  const std::string directory = command.directory.string();
  switch (command.asked) {
    case JournalCommand::what::verify:
      return end_with(output, verify_journal(directory, print));
    case JournalCommand::what::dump:
      return end_with(output, dump_journal(directory, command.from, print));
    case JournalCommand::what::end:
      break;
  }
  return end_with(output, show_journal_end(directory, print));
}

int run_command(const CheckpointCommand& command) {
  if (command.to.empty()) {
    std::error_code unknown;
    if (!std::filesystem::is_directory(command.directory, unknown)) {
      return complain(kExitWrongOptions,
                      (command.directory.string() + ": there is no such directory").c_str());
    }
    config::DaemonOptions options;
    options.durability.directory = command.directory.string();
    options.when_full = config::when_full::error;
    options.durability.segment_bytes = kSmallSegmentBytes;
    options.log.level = config::log_level::warning;
    Start start{.passed = {}, .background = {}, .reread = {}, .process = getpid(), .only_checkpoint = true};
    return run_daemon(options, start);
  }
  Output output;
  const LinePrinter print = [&output](std::string_view line) { return output.print(line); };
  return end_with(output, back_up(command.directory.string(), command.to.string(), print));
}

}  // namespace mxkv::server
