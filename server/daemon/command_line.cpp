#include "server/daemon/command_line.hpp"

#include <array>
#include <cstdint>
#include <filesystem>
#include <utility>
#include <vector>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "config/load.hpp"
#include "runtime/base/command_line.hpp"
#include "server/daemon/about.hpp"
#include "server/daemon/cluster_command_line.hpp"

namespace mxkv::server {

namespace {

using runtime::Error;
using runtime::Result;

/// The flags as given; empty: not given.
struct Flags {
  std::string config;
  std::vector<std::string> listen;
  std::string workers;
  std::string cpus;
  std::string memory;
  std::string pid_file;
  std::string recover;
  bool daemonize = false;
  std::vector<std::string> sets;
};

/// The given flags, as the keys they stand for.
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

/// Adds the flags that say how to serve, for the daemon and for print-config.
void add_flags(CLI::App& app, Flags& flags) {
  app.add_option("--config", flags.config, "YAML file with options")->type_name("FILE");
  app.add_option("--listen", flags.listen,
                 "Where to listen, such as 127.0.0.1:11211, [::1]:11211 or unix:/run/mxkv.sock; repeatable")
      ->type_name("ADDRESS")
      ->allow_extra_args(false);
  app.add_option("--workers", flags.workers, "Worker threads; default: one for each CPU")->type_name("N");
  app.add_option("--cpus", flags.cpus, "CPUs to run on, such as 0-3,8")->type_name("LIST");
  app.add_option("--memory", flags.memory, "Memory limit, such as 512MiB or 50%")->type_name("SIZE");
  app.add_flag("--daemonize", flags.daemonize, "Run in the background; return when the server is ready");
  app.add_option("--pid-file", flags.pid_file, "File that holds the process id while the server runs")
      ->type_name("PATH");
  app.add_option("--recover", flags.recover,
                 "prefix: if the journal is damaged, start with the data before the damage and drop the rest")
      ->type_name("HOW")
      ->check(CLI::IsMember({"prefix"}));
  app.add_option("--set", flags.sets,
                 "One option as in the file, such as limits.value_bytes=2MiB; repeatable")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
}

/// The flags of memcached, and what mxkvd has instead.
constexpr std::array<runtime::ForeignWord, 55> kFlagsOfMemcached{{
    {"-p", "memcached's flag; here --listen ADDRESS:PORT, such as --listen 127.0.0.1:11211"},
    {"--port", "memcached's flag; here --listen ADDRESS:PORT, such as --listen 127.0.0.1:11211"},
    {"-l", "memcached's flag; here --listen ADDRESS:PORT, such as --listen 0.0.0.0:11211"},
    {"-s", "memcached's flag; here --listen unix:PATH"},
    {"--unix-socket", "memcached's flag; here --listen unix:PATH"},
    {"-a", "memcached's flag; here --set 'listeners=[{path: PATH, mode: \"0660\"}]'"},
    {"--unix-mask", "memcached's flag; here --set 'listeners=[{path: PATH, mode: \"0660\"}]'"},
    {"-U", "memcached's flag; there is no UDP here: leave it out"},
    {"--udp-port", "memcached's flag; there is no UDP here: leave it out"},
    {"-m", "memcached's flag; here --memory SIZE with a unit, such as --memory 64MiB"},
    {"--memory-limit", "memcached's flag; here --memory SIZE with a unit, such as --memory 64MiB"},
    {"-c", "memcached's flag; here --set limits.connections=N"},
    {"--conn-limit", "memcached's flag; here --set limits.connections=N"},
    {"-t", "memcached's flag; here --workers N"},
    {"--threads", "memcached's flag; here --workers N"},
    {"-d", "memcached's flag; here --daemonize"},
    {"--daemon", "memcached's flag; here --daemonize"},
    {"-P", "memcached's flag; here --pid-file PATH"},
    {"--pidfile", "memcached's flag; here --pid-file PATH"},
    {"-u", "memcached's flag; mxkvd stays the user that starts it: use runuser -u NAME, or User= of systemd"},
    {"--user",
     "memcached's flag; mxkvd stays the user that starts it: use runuser -u NAME, or User= of systemd"},
    {"-v", "memcached's flag; here --set log.level=debug"},
    {"--verbose", "memcached's flag; here --set log.level=debug"},
    {"-V", "memcached's flag; here --version"},
    {"-M", "memcached's flag; here --set memory.when_full=error"},
    {"--disable-evictions", "memcached's flag; here --set memory.when_full=error"},
    {"-I", "memcached's flag; here --set limits.value_bytes=SIZE"},
    {"--max-item-size", "memcached's flag; here --set limits.value_bytes=SIZE"},
    {"-R", "memcached's flag; here --set limits.requests_per_turn=N"},
    {"--max-reqs-per-event", "memcached's flag; here --set limits.requests_per_turn=N"},
    {"-Y", "memcached's flag; here --set server.auth_file=FILE"},
    {"--auth-file", "memcached's flag; here --set server.auth_file=FILE"},
    {"-S", "memcached's flag; SASL follows from --set server.auth_file=FILE"},
    {"--enable-sasl", "memcached's flag; SASL follows from --set server.auth_file=FILE"},
    {"-Z", "memcached's flag; here a listener with tls, in a file: --config FILE"},
    {"--enable-ssl", "memcached's flag; here a listener with tls, in a file: --config FILE"},
    {"-A", "memcached's flag; here --set server.shutdown_command=true"},
    {"--enable-shutdown", "memcached's flag; here --set server.shutdown_command=true"},
    {"-L", "memcached's flag; here --set memory.huge_pages, which is transparent by default"},
    {"--enable-largepages",
     "memcached's flag; here --set memory.huge_pages, which is transparent by default"},
    {"-B", "memcached's flag; each listener speaks all protocols: leave it out"},
    {"-b", "memcached's flag; there is nothing to set here: leave it out"},
    {"-f", "memcached's flag; there are no slab classes to set here: leave it out"},
    {"-n", "memcached's flag; there are no slab classes to set here: leave it out"},
    {"-C", "memcached's flag; each item has a unique: leave it out"},
    {"-D", "memcached's flag; any delimiter works here: leave it out"},
    {"-F", "memcached's flag; here roles, by --set server.auth_file=FILE or a listener's role"},
    {"-W", "memcached's flag; here roles, by --set server.auth_file=FILE or a listener's role"},
    {"-X", "memcached's flag; here roles, by --set server.auth_file=FILE or a listener's role"},
    {"-N", "memcached's flag; here --set server.accept, which is node by default"},
    {"-e", "memcached's flag; here --set durability.directory=DIR"},
    {"-i", "memcached's flag; the licence is in the file LICENSE"},
    {"-k", "memcached's flag; here disable swap, or set MemorySwapMax=0 in the unit"},
    {"-r", "memcached's flag; here the system's core limit, and --set memory.in_core"},
    {"-o", "memcached's flag; guides/from-memcached.md has the options that exist here"},
}};

/// The subcommands and their arguments.
struct Commands {
  Commands(CLI::App& app, Flags& flags)
      : topology(app.add_subcommand("topology", "Show the machine as the server sees it")),
        check(app.add_subcommand("check", "Check a file, and whether it fits this machine or another")),
        print_config(app.add_subcommand("print-config", "Print every key, its value and its origin")),
        journal(app.add_subcommand("journal", "Show the contents of a data directory's journal")),
        checkpoint(app.add_subcommand(
            "checkpoint", "Write a checkpoint of a data directory, so that the next start is fast")),
        hash_password(app.add_subcommand("hash-password", "Read a password and print its hash, for users")) {
    app.require_subcommand(0, 1);
    constexpr const char* kOther = "Another machine: hwloc's XML file or synthetic description";
    CLI::Option* yaml = topology->add_flag("--yaml", as_yaml, "A configuration file for this machine");
    topology->add_flag("--json", as_json, "As JSON")->excludes(yaml);
    topology->add_option("--topology", other, kOther)->type_name("XML|SYNTHETIC");
    check->add_option("FILE", file, "YAML file with options")->required();
    check->add_option("--topology", other, kOther)->type_name("XML|SYNTHETIC");
    CLI::Option* exact =
        print_config->add_flag("--effective", effective, "With the values detected on this machine");
    print_config->add_flag("--defaults", defaults, "Without file and flags")->excludes(exact);
    add_flags(*print_config, flags);
    add_directory_commands();
  }

  void add_directory_commands() {
    journal->require_subcommand(1);
    verify = journal->add_subcommand("verify", "Check that all files are whole; exit code 1: damaged");
    dump = journal->add_subcommand("dump", "Print the records, one per line");
    end = journal->add_subcommand("end", "Print the last epoch, its time, and the bytes behind it");
    dump->add_option("--from", from, "First epoch to print")
        ->type_name("EPOCH")
        ->check([](const std::string& text) {
          // Else a negative number would become a very large one.
          return text.starts_with('-') ? text + " is not an epoch" : std::string{};
        });
    checkpoint
        ->add_option("--to", to,
                     "Copy it there instead, also while it is in use: a new directory, or an empty one")
        ->type_name("BACKUP");
    for (CLI::App* const command : {verify, dump, end, checkpoint}) {
      command->add_option("DIR", data, "Data directory: durability.directory")->required();
    }
  }

  CLI::App* topology;
  CLI::App* check;
  CLI::App* print_config;
  CLI::App* journal;
  CLI::App* checkpoint;
  CLI::App* hash_password;
  CLI::App* verify = nullptr;  ///< the next three are subcommands of journal
  CLI::App* dump = nullptr;
  CLI::App* end = nullptr;
  std::string other;
  std::string file;
  std::string data;
  std::string to;
  std::uint64_t from = 0;
  bool as_yaml = false;
  bool as_json = false;
  bool effective = false;
  bool defaults = false;
};

TopologyCommand topology_command(const Commands& commands) {
  using form = TopologyCommand::form;
  return {.how = commands.as_yaml   ? form::yaml
                 : commands.as_json ? form::json
                                    : form::table,
          .topology = commands.other};
}

JournalCommand journal_command(const Commands& commands, const std::filesystem::path& directory) {
  using what = JournalCommand::what;
  return {.asked = commands.dump->parsed()  ? what::dump
                   : commands.end->parsed() ? what::end
                                            : what::verify,
          .directory = directory / commands.data,
          .from = commands.from};
}

PrintConfigCommand print_config_command(const Commands& commands, config::DaemonOptions options) {
  using which = PrintConfigCommand::which;
  return {.values = commands.effective  ? which::effective
                    : commands.defaults ? which::defaults
                                        : which::given,
          .options = std::move(options)};
}

}  // namespace

Result<Request> parse_command_line(int count, const char* const* arguments,
                                   const std::filesystem::path& directory) {
  Flags flags;
  CLI::App app{"mxkvd: an ordered in-memory key-value server that speaks memcached's protocols", "mxkvd"};
  app.set_version_flag("--version", version_text);
  app.footer(help_footer);
  add_flags(app, flags);
  const Commands commands{app, flags};
  const ClusterCommandLine cluster{app};
  try {
    runtime::parse_words(app, runtime::words_behind_name(count, arguments),
                         {.foreign = kFlagsOfMemcached, .options = {}});
  } catch (const CLI::CallForHelp&) {
    return {Information{app.help()}};
  } catch (const CLI::CallForVersion&) {
    return {Information{app.version()}};
  } catch (const CLI::ParseError& error) {
    return Error{runtime::usage_text(error)};
  }
  if (cluster.parsed()) {
    Result<ClusterCommand> command = cluster.command(directory);
    return command ? Result<Request>{std::move(command).value()} : command.error();
  }
  if (commands.topology->parsed()) {
    return {topology_command(commands)};
  }
  if (commands.check->parsed()) {
    return {CheckCommand{.file = directory / commands.file, .topology = commands.other}};
  }
  if (commands.journal->parsed()) {
    return {journal_command(commands, directory)};
  }
  if (commands.hash_password->parsed()) {
    return {HashPasswordCommand{}};
  }
  if (commands.checkpoint->parsed()) {
    return {CheckpointCommand{.directory = directory / commands.data, .to = directory / commands.to}};
  }
  const std::optional<std::filesystem::path> file =
      flags.config.empty() ? std::nullopt : std::optional{directory / flags.config};
  config::Loaded loaded = config::read_options(file, flags.sets, given(flags));
  if (!loaded.findings.empty()) {
    return everything_wrong(std::move(loaded));
  }
  if (commands.print_config->parsed()) {
    return {print_config_command(commands, std::move(loaded.options))};
  }
  loaded.options.durability.recover_prefix = !flags.recover.empty();
  return {std::move(loaded.options)};
}

}  // namespace mxkv::server
