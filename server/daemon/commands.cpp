#include "server/daemon/commands.hpp"

#include <cstdio>
#include <utility>

#include "config/describe.hpp"
#include "config/doubts.hpp"
#include "config/resolve.hpp"
#include "config/topology_text.hpp"
#include "config/without_effect.hpp"
#include "runtime/base/readable.hpp"
#include "runtime/topology/build.hpp"
#include "server/daemon/daemon.hpp"
#include "server/daemon/start_files.hpp"
#include "server/daemon/startup_screen.hpp"

namespace mxkv::server {

namespace {

using runtime::Result;
using runtime::Topology;

struct FoundMachine {
  Topology topology;
  config::MachineFacts facts;
};

Result<FoundMachine> this_machine() {
  Result<Topology> topology = runtime::live_topology();
  if (!topology) {
    return topology.error();
  }
  const Result<config::MachineFacts> facts = config::read_machine_facts();
  if (!facts) {
    return facts.error();
  }
  config::share_out_memory(topology.value(), facts.value());
  return FoundMachine{std::move(topology).value(), facts.value()};
}

/// The machine that `name` describes; an empty name means this one.
Result<FoundMachine> machine_of(const std::string& name) {
  if (name.empty()) {
    return this_machine();
  }
  std::error_code unknown;
  const bool file = name.ends_with(".xml") || std::filesystem::exists(name, unknown);
  Result<Topology> topology =
      file ? runtime::topology_from_xml(name) : runtime::topology_from_synthetic(name);
  if (!topology) {
    return runtime::Error{"--topology: " + topology.error().message};
  }
  const config::MachineFacts facts = config::facts_of(topology.value());
  return FoundMachine{std::move(topology).value(), facts};
}

void warn_of(const config::Findings& doubts) {
  for (config::Finding doubt : doubts) {
    doubt.path = "warning: " + doubt.path;
    std::fprintf(stderr, "%s\n", runtime::readable(to_string(doubt)).c_str());
  }
}

void print(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
}

}  // namespace

int run_command(const TopologyCommand& command) {
  const Result<FoundMachine> machine = machine_of(command.topology);
  if (!machine) {
    return complain(command.topology.empty() ? kExitFailed : kExitWrongOptions,
                    machine.error().message.c_str());
  }
  const auto& [topology, facts] = machine.value();
  switch (command.how) {
    case TopologyCommand::form::table:
      print(config::topology_table(topology, facts));
      break;
    case TopologyCommand::form::yaml:
      print(config::topology_yaml(topology, facts));
      break;
    case TopologyCommand::form::json:
      print(config::topology_json(topology, facts));
      break;
  }
  return kExitOk;
}

int run_command(const CheckCommand& command) {
  const Result<FoundMachine> machine = machine_of(command.topology);
  if (!machine) {
    return complain(command.topology.empty() ? kExitFailed : kExitWrongOptions,
                    machine.error().message.c_str());
  }
  config::Loaded loaded = config::read_options(command.file, {}, {});
  const config::Resolved resolved =
      config::add_misfits(loaded, machine.value().topology, machine.value().facts);
  config::Findings doubts;
  if (command.topology.empty()) {
    static_cast<void>(read_start_files(loaded.options, loaded.findings));
    static_cast<void>(read_certificates(loaded.options, loaded.findings, doubts));
    look_at_paths(loaded.options, doubts);
  }
  if (!loaded.findings.empty()) {
    // Without a prefix: editors jump to file:line:column.
    const std::string text = config::to_error(std::move(loaded.findings)).message;
    std::fprintf(stderr, "%s\n", runtime::readable(text, "\n").c_str());
    return kExitWrongOptions;
  }
  warn_of(doubts);
  warn_of(config::doubts(loaded.options, resolved, machine.value().facts));
  std::string text = command.file.string() + ": fits " +
                     (command.topology.empty() ? std::string{"this machine"} : command.topology) +
                     (resolved.topology.empty() ? "" : ", topology " + resolved.topology) + "\n";
  for (const std::string& line : placement_lines(resolved)) {
    text += "  " + line + "\n";
  }
  print(text);
  return kExitOk;
}

int run_command(const PrintConfigCommand& command) {
  if (command.values == PrintConfigCommand::which::defaults) {
    print(config::print_yaml({}));
    return kExitOk;
  }
  if (command.values == PrintConfigCommand::which::given) {
    warn_of(config::switches_without_effect(command.options, command.options.workers));
    print(config::print_yaml(command.options));
    return kExitOk;
  }
  const Result<FoundMachine> machine = this_machine();
  if (!machine) {
    return complain(kExitFailed, machine.error().message.c_str());
  }
  const Result<config::Resolved> resolved =
      config::resolve(command.options, machine.value().topology, machine.value().facts);
  if (!resolved) {
    return complain(kExitWrongOptions, resolved.error().message.c_str());
  }
  warn_of(config::doubts(command.options, resolved.value(), machine.value().facts));
  print(config::print_yaml(config::effective(command.options, resolved.value())));
  return kExitOk;
}

runtime::Error everything_wrong(config::Loaded loaded) {
  if (const Result<FoundMachine> machine = this_machine()) {
    static_cast<void>(config::add_misfits(loaded, machine.value().topology, machine.value().facts));
  }
  return config::to_error(std::move(loaded.findings));
}

}  // namespace mxkv::server
