#include "server/daemon/command_line.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "config/load.hpp"
#include "config/parse.hpp"

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
  std::vector<std::string> sets;
};

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

Error wrong(const std::string& flag, const Error& error) {
  return Error{flag + ": " + error.message};
}

/// Puts the flags on top of what file and `--set` gave.
Result<config::DaemonOptions> apply(const Flags& flags, config::DaemonOptions options) {
  if (!flags.listen.empty()) {
    options.listeners.clear();
  }
  for (const std::string& text : flags.listen) {
    Result<config::ListenAddress> address = config::parse_listen(text);
    if (!address) {
      return wrong("--listen", address.error());
    }
    options.listeners.push_back(std::move(address).value());
  }
  if (!flags.workers.empty()) {
    constexpr std::uint64_t kMostWorkers = 1024;
    const Result<std::uint64_t> workers = config::parse_number(flags.workers);
    if (!workers) {
      return wrong("--workers", workers.error());
    }
    if (workers.value() == 0 || workers.value() > kMostWorkers) {
      return Error{"--workers: '" + flags.workers + "' is out of range (allowed: 1 to " +
                   std::to_string(kMostWorkers) + ")"};
    }
    options.workers = static_cast<std::uint32_t>(workers.value());
  }
  if (!flags.cpus.empty()) {
    Result<std::vector<runtime::PuId>> cpus = config::parse_cpu_list(flags.cpus);
    if (!cpus) {
      return wrong("--cpus", cpus.error());
    }
    options.cpus = std::move(cpus).value();
  }
  if (!flags.memory.empty()) {
    const Result<std::size_t> bytes = config::parse_size(flags.memory);
    if (!bytes) {
      return wrong("--memory", bytes.error());
    }
    options.memory.limit_bytes = bytes.value();
  }
  return options;
}

}  // namespace

Result<std::variant<config::DaemonOptions, Information>> parse_command_line(int count,
                                                                            const char* const* arguments) {
  Flags flags;
  CLI::App app{"mxkvd: an ordered in-memory key-value server that speaks memcached's text protocol", "mxkvd"};
  app.set_version_flag("--version", "mxkvd " MXKV_VERSION);
  app.add_option("--config", flags.config, "YAML file with options")->type_name("FILE");
  app.add_option("--listen", flags.listen,
                 "Where to listen, such as 127.0.0.1:11211 or [::1]:11211; repeatable")
      ->type_name("ADDR:PORT")
      ->allow_extra_args(false);
  app.add_option("--workers", flags.workers, "Worker threads; default: one for each CPU")->type_name("N");
  app.add_option("--cpus", flags.cpus, "CPUs to run on, such as 0-3,8")->type_name("LIST");
  app.add_option("--memory", flags.memory, "Memory limit, such as 512MiB")->type_name("SIZE");
  app.add_option("--set", flags.sets,
                 "One option as in the file, such as limits.value_bytes=2MiB; repeatable")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
  try {
    app.parse(count, arguments);
  } catch (const CLI::CallForHelp&) {
    return {Information{app.help()}};
  } catch (const CLI::CallForVersion&) {
    return {Information{app.version() + "\n"}};
  } catch (const CLI::ParseError& error) {
    return Error{one_line(error.what())};
  }
  const std::optional<std::filesystem::path> file =
      flags.config.empty() ? std::nullopt : std::optional<std::filesystem::path>{flags.config};
  Result<config::DaemonOptions> loaded = config::load(file, flags.sets);
  if (!loaded) {
    return loaded.error();
  }
  Result<config::DaemonOptions> options = apply(flags, std::move(loaded).value());
  if (!options) {
    return options.error();
  }
  return {std::move(options).value()};
}

}  // namespace mxkv::server
