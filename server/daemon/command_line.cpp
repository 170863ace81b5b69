#include "server/daemon/command_line.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "config/load.hpp"
#include "server/daemon/about.hpp"

namespace mxkv::server {

namespace {

using runtime::Error;
using runtime::Result;

/// Flags as they were written; empty: not given.
struct Flags {
  std::string config;
  std::vector<std::string> listen;
  std::string workers;
  std::string cpus;
  std::string memory;
  std::string pid_file;
  bool daemonize = false;
  std::vector<std::string> sets;
};

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

/// The flags that were given, as the keys they stand for.
std::vector<config::Flag> given(const Flags& flags) {
  std::vector<config::Flag> result;
  const auto add = [&result](const char* name, const char* key, const std::string& text) {
    if (!text.empty()) {
      result.push_back({.name = name, .key = key, .texts = {text}});
    }
  };
  if (!flags.listen.empty()) {
    result.push_back({.name = "--listen", .key = "listeners", .texts = flags.listen, .list = true});
  }
  add("--workers", "workers", flags.workers);
  add("--cpus", "cpus", flags.cpus);
  add("--memory", "memory.limit", flags.memory);
  add("--daemonize", "server.daemonize", flags.daemonize ? "true" : "");
  add("--pid-file", "server.pid_file", flags.pid_file);
  return result;
}

}  // namespace

Result<std::variant<config::DaemonOptions, Information>> parse_command_line(
    int count, const char* const* arguments, const std::filesystem::path& directory) {
  Flags flags;
  CLI::App app{"mxkvd: an ordered in-memory key-value server that speaks memcached's text protocol", "mxkvd"};
  app.set_version_flag("--version", version_text);
  app.footer(help_footer);
  app.add_option("--config", flags.config, "YAML file with options")->type_name("FILE");
  app.add_option("--listen", flags.listen,
                 "Where to listen, such as 127.0.0.1:11211, [::1]:11211 or unix:/run/mxkv.sock; repeatable")
      ->type_name("ADDR:PORT")
      ->allow_extra_args(false);
  app.add_option("--workers", flags.workers, "Worker threads; default: one for each CPU")->type_name("N");
  app.add_option("--cpus", flags.cpus, "CPUs to run on, such as 0-3,8")->type_name("LIST");
  app.add_option("--memory", flags.memory, "Memory limit, such as 512MiB")->type_name("SIZE");
  app.add_flag("--daemonize", flags.daemonize, "Run in the background; return when it serves");
  app.add_option("--pid-file", flags.pid_file, "File that holds the process's number while it runs")
      ->type_name("PATH");
  app.add_option("--set", flags.sets,
                 "One option as in the file, such as limits.value_bytes=2MiB; repeatable")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
  try {
    app.parse(count, arguments);
  } catch (const CLI::CallForHelp&) {
    return {Information{app.help()}};
  } catch (const CLI::CallForVersion&) {
    return {Information{app.version()}};
  } catch (const CLI::ParseError& error) {
    return Error{one_line(error.what())};
  }
  const std::optional<std::filesystem::path> file =
      flags.config.empty() ? std::nullopt : std::optional{directory / flags.config};
  Result<config::DaemonOptions> options = config::load(file, flags.sets, given(flags));
  if (!options) {
    return options.error();
  }
  return {std::move(options).value()};
}

}  // namespace mxkv::server
