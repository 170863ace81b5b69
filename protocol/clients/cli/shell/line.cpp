#include "protocol/clients/cli/shell/line.hpp"

#include <vector>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "protocol/clients/cli/commands/command.hpp"
#include "protocol/clients/cli/interrupt.hpp"
#include "protocol/clients/cli/text/amounts.hpp"
#include "protocol/clients/cli/text/complain.hpp"
#include "protocol/clients/cli/text/quoting.hpp"
#include "runtime/base/command_line.hpp"
#include "runtime/base/nearest.hpp"

namespace mxkv::cli {
namespace {

using Words = std::vector<std::string>;

[[noreturn]] void no_such_command(const std::string& name) {
  std::vector<std::string> names;
  for (const Command& command : all_commands()) {
    names.emplace_back(command.name);
  }
  const std::string meant = runtime::nearest(name, names);
  throw Failure(Outcome::usage, "there is no command " + quoted_word(name) +
                                    (meant.empty() ? "; help lists them" : ", did you mean " + meant + "?"));
}

void show_help(Session& session, const Words& words) {
  if (words.size() > 1) {
    const Command* const command = find_command(words[1]);
    if (command == nullptr) {
      no_such_command(words[1]);
    }
    CLI::App app{std::string(command->summary), words[1]};
    static_cast<void>(command->declare(app));
    session.print(app.help());
    return;
  }
  std::string text;
  for (const Command& command : all_commands()) {
    std::string name(command.name);
    name.resize(15, ' ');
    text += name + std::string(command.summary) + '\n';
  }
  session.print(
      text +
      "help COMMAND shows its arguments. exit or Ctrl-D leaves the shell, Ctrl-C stops the running command.\n"
      "Words are quoted as in a shell: 'unchanged', \"with \\n \\t \\xNN\".\n");
}

Outcome run_words(Session& session, Words words) {
  const Command* const command = find_command(words[0]);
  if (command == nullptr) {
    no_such_command(words[0]);
  }
  CLI::App app{std::string(command->summary), words[0]};
  const Action action = command->declare(app);
  words.erase(words.begin());  // the name
  try {
    runtime::parse_words(app, words);
  } catch (const CLI::CallForHelp&) {
    session.print(app.help());
    return Outcome::done;
  } catch (const CLI::ParseError& error) {
    throw Failure(Outcome::usage, runtime::usage_text(error));
  }
  const Outcome outcome = action(session);
  session.flush();
  return outcome;
}

}  // namespace

LineOutcome run_line(Session& session, const std::string& line, const std::string& place) {
  try {
    const Words words = split_words(line);
    if (words.empty()) {
      return {};
    }
    if (words[0] == "exit" || words[0] == "quit") {
      return {.end = LineEnd::leave};
    }
    if (words[0] == "help") {
      show_help(session, words);
      session.flush();
      return {};
    }
    return {.outcome = run_words(session, words)};
  } catch (const Failure& failure) {
    if (failure.outcome() != Outcome::usage && failure.outcome() != Outcome::no) {
      session.hang_up();  // replies to the failed command may be on their way
    }
    complain(place + failure.what());
    forget_interrupt();
    return {.outcome = failure.outcome()};
  }
}

}  // namespace mxkv::cli
