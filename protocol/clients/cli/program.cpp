#include "protocol/clients/cli/program.hpp"

#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdio>
#include <exception>
#include <map>
#include <string>
#include <string_view>
#include <system_error>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "protocol/clients/cli/commands/command.hpp"
#include "protocol/clients/cli/interrupt.hpp"
#include "protocol/clients/cli/shell/shell.hpp"
#include "protocol/clients/cli/text/complain.hpp"
#include "runtime/base/command_line.hpp"

namespace mxkv::cli {
namespace {

constexpr const char* kFooter =
    "Exit codes: 0 done; 1 negative reply (not found, not stored); 2 wrong usage; 3 cannot connect, or no "
    "reply;\n"
    "4 the server refused the request; 5 login failed; 6 file error; 130 interrupted.\n"
    "Without a command it is a shell, or runs the lines of standard input if that is not a terminal. See "
    "mxkv-cli(1).";

/// Turns 0.5, 200ms, 2s or 1min into seconds. Returns an error text, or an empty one.
std::string to_patience(std::string& text) {
  constexpr std::array<std::pair<std::string_view, double>, 4> kUnits{
      {{"", 1}, {"ms", 0.001}, {"s", 1}, {"min", 60}}};
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [behind, failure] = std::from_chars(text.data(), end, number);
  const std::string_view unit(behind, static_cast<std::size_t>(end - behind));
  for (const auto& [name, factor] : kUnits) {
    if (failure == std::errc{} && name == unit && number > 0 && number * factor <= 86'400) {
      text = std::to_string(number * factor);
      return {};
    }
  }
  return "'" + text + "' is no time of at most a day: write seconds, or 200ms, 2s, 1min";
}

void add_global_options(CLI::App& app, Settings& settings, bool& keep_going) {
  app.add_option("--server,-s", settings.server, "HOST:PORT, or unix:PATH")
      ->envname("MXKV_SERVER")
      ->type_name("WHERE");
  app.add_option("--user,-u", settings.user, "Log in as this user")->envname("MXKV_USER")->type_name("NAME");
  app.add_option("--password-file", settings.password_file,
                 "File whose first line is the password; default: MXKV_PASSWORD, else mxkv-cli asks for it")
      ->type_name("FILE");
  CLI::Option* const tls = app.add_flag("--tls", settings.tls.on, "Encrypt the connection");
  app.add_option("--ca", settings.tls.ca,
                 "Authorities that may sign the server's certificate; default: the system's")
      ->type_name("FILE")
      ->needs(tls);
  CLI::Option* const certificate =
      app.add_option("--cert", settings.tls.certificate, "The client's own certificate")
          ->type_name("FILE")
          ->needs(tls);
  app.add_option("--key", settings.tls.key, "The key of --cert, unless it is in the same file")
      ->type_name("FILE")
      ->needs(certificate);
  app.add_flag("--insecure", settings.tls.insecure, "Accept any server certificate")->needs(tls);
  app.add_option("--connect-timeout", settings.connect_seconds,
                 "Timeout of the connection: seconds, or 200ms, 2s")
      ->transform(CLI::Validator{to_patience, ""})
      ->type_name("TIME");
  app.add_option("--timeout", settings.seconds, "Timeout for the next byte of a reply: seconds, or 200ms, 2s")
      ->transform(CLI::Validator{to_patience, ""})
      ->type_name("TIME");
  app.add_flag("--json", settings.json,
               "Print one JSON document, or one per line; bytes that are not UTF-8 are {\"b64\": ..}");
  app.add_flag("--keep-going", keep_going, "In a script: continue after a line that fails");
  app.add_flag("--escaped", settings.escaped,
               "Keys and values in arguments have escapes: \\n \\t \\0 \\\\ \\xNN");
}

/// Words of redis-cli and others, and what mxkv-cli has instead.
constexpr std::array<runtime::ForeignWord, 14> kForeign{{
    {"-p", "here --server HOST:PORT"},
    {"--port", "here --server HOST:PORT"},
    {"--host", "here --server HOST:PORT"},
    {"-a", "here --user NAME, with MXKV_PASSWORD or --password-file"},
    {"--pass", "here --user NAME, with MXKV_PASSWORD or --password-file"},
    {"--cacert", "here --tls --ca FILE"},
    {"keys", "here scan [PREFIX]"},
    {"mget", "here get KEY..."},
    {"del", "here delete KEY..."},
    {"ttl", "here info KEY, or get --full KEY"},
    {"expire", "here touch KEY --ttl TIME"},
    {"flush_all", "here raw flush_all"},
    {"flushall", "here raw flush_all"},
    {"monitor", "here watch"},
}};

int tell(Outcome outcome, const std::string& text) {
  complain("mxkv-cli: " + text);
  return static_cast<int>(outcome);
}

int run_action(const Settings& settings, const Action& action) {
  Session session(settings);
  const Outcome outcome = action(session);
  session.flush();
  return static_cast<int>(outcome);
}

int parse_and_run(int count, const char* const* arguments) {
  CLI::App app{"mxkv-cli: a shell and client for mxkvd", "mxkv-cli"};
  app.set_version_flag("--version", std::string("mxkv-cli ") + MXKV_VERSION);
  app.footer(kFooter);
  app.require_subcommand(0, 1);
  app.ignore_case();
  app.fallthrough();
  Settings settings;
  bool keep_going = false;
  add_global_options(app, settings, keep_going);
  std::map<const CLI::App*, Action> actions;
  for (const Command& command : all_commands()) {
    CLI::App* const sub = app.add_subcommand(std::string(command.name), std::string(command.summary));
    actions[sub] = command.declare(*sub);
  }
  try {
    runtime::parse_words(app, runtime::words_behind_name(count, arguments),
                         {.foreign = kForeign, .options = {}});
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), stdout);
    return 0;
  } catch (const CLI::CallForVersion&) {
    std::puts(app.version().c_str());
    return 0;
  } catch (const CLI::ParseError& error) {
    return tell(Outcome::usage, runtime::usage_text(error));
  }
  for (const CLI::App* const parsed : app.get_subcommands()) {
    return run_action(settings, actions.at(parsed));
  }
  Session session(settings);
  const Outcome outcome = ::isatty(STDIN_FILENO) != 0 ? run_shell(session) : run_script(session, keep_going);
  session.flush();
  return static_cast<int>(outcome);
}

}  // namespace

int run_program(int count, const char* const* arguments) {
  catch_interrupts();
  try {
    return parse_and_run(count, arguments);
  } catch (const Failure& failure) {
    return tell(failure.outcome(), failure.what());
  } catch (const std::exception& error) {
    return tell(Outcome::refused, error.what());
  }
}

}  // namespace mxkv::cli
