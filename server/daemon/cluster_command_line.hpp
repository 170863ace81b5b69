// Parses the flags of `mxkvd cluster` into a ClusterCommand. For command_line.cpp alone, which includes
// CLI11.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/App.hpp>
#include <CLI/Validators.hpp>

#include "config/load.hpp"
#include "runtime/base/command_line.hpp"
#include "server/cluster/shard_splits.hpp"
#include "server/daemon/cluster_commands.hpp"

namespace mxkv::server {

/// The subcommand `cluster` and its subcommands. Lives while the command line is parsed.
class ClusterCommandLine {
 public:
  explicit ClusterCommandLine(CLI::App& app)
      : cluster_(app.add_subcommand("cluster", "Make a cluster, tell how it is, or change who keeps what")) {
    cluster_->require_subcommand(1);
    cluster_
        ->add_option("--config", config_,
                     "YAML file with options, of which cluster's name, brokers and "
                     "properties count")
        ->type_name("FILE");
    cluster_->add_option("--name", name_, "The cluster's name, in place of the file's")->type_name("NAME");
    cluster_->add_option("--brokers", brokers_, "Brokers, in place of the file's: host:port,...")
        ->type_name("LIST")
        ->delimiter(',')
        ->allow_extra_args(false);
    cluster_->add_option("--set", sets_, "One option as in the file, such as cluster.properties.client.id=x")
        ->type_name("PATH=VALUE")
        ->allow_extra_args(false);
    add_init();
    CLI::App* const status = add(ClusterCommand::what::status, "status", "Who is there, and who has what");
    status->add_flag("--json", asked_.json, "For programs");
    CLI::App* const move = add(ClusterCommand::what::move, "move", "Another node is to own a shard");
    move->add_option("SHARD", asked_.shard, "Its number")->required();
    move->add_option("NODE", asked_.node, "Its name")->required();
    CLI::App* const drain =
        add(ClusterCommand::what::drain, "drain", "All that a node keeps goes to the others, evenly");
    drain->add_option("NODE", asked_.node, "Its name")->required();
    add_node(add(ClusterCommand::what::add, "add", "A node more, or another address of one"));
    CLI::App* const remove = add(ClusterCommand::what::remove, "remove", "A node less; drained before");
    remove->add_option("NODE", asked_.node, "Its name")->required();
    CLI::App* const settle = add(ClusterCommand::what::settle, "settle",
                                 "What a move or drain left with too many, once the others have it");
    CLI::App* const lease = add(ClusterCommand::what::lease, "lease", "Another lease for all shards");
    lease->add_option("TIME", lease_, "500ms to 60s: an owner that is not heard of for so long is replaced")
        ->required();
    CLI::App* const changes =
        add(ClusterCommand::what::changes, "changes", "What changes, a line of JSON each, as it comes");
    changes->add_option("--shard", asked_.only_shard, "Of one shard alone")->type_name("N");
    changes->add_option("--from", asked_.from, "Position in the logs to begin at (the oldest that is there)")
        ->type_name("N");
    changes->add_option("--idle", asked_.idle_s, "End when nothing changed for so many seconds; 0: never (0)")
        ->type_name("N");
    CLI::App* const backup =
        add(ClusterCommand::what::backup, "backup", "All items into a file that mxkv-cli import takes");
    backup->add_option("FILE", file_, "The file, which is not there yet")->required();
    backup->add_option("--shard", asked_.only_shard, "Of one shard alone")->type_name("N");
    for (CLI::App* const waits : {move, drain, settle, lease}) {
      waits->add_option("--wait", asked_.wait_s, "Seconds for the nodes to do it; 0: not at all (60)")
          ->type_name("N");
    }
  }

  [[nodiscard]] bool parsed() const { return cluster_->parsed(); }

  /// The command, with the cluster's options read. Errors as for the daemon's options.
  [[nodiscard]] runtime::Result<ClusterCommand> command(const std::filesystem::path& directory) const {
    ClusterCommand command = asked_;
    for (const auto& [what, app] : subcommands_) {
      if (app->parsed()) {
        command.asked = what;
      }
    }
    std::vector<config::Flag> flags;
    if (!name_.empty()) {
      flags.push_back({.name = "--name", .key = "cluster.name", .texts = {name_}});
    }
    if (!brokers_.empty()) {
      flags.push_back({.name = "--brokers", .key = "cluster.brokers", .texts = brokers_, .list = true});
    }
    if (!lease_.empty()) {
      flags.push_back({.name = command.asked == ClusterCommand::what::init ? "--lease" : "TIME",
                       .key = "cluster.lease",
                       .texts = {lease_}});
    }
    const auto file = config_.empty() ? std::nullopt : std::optional{directory / config_};
    config::Loaded loaded = config::read_options(file, sets_, flags);
    if (!loaded.findings.empty()) {
      return config::to_error(std::move(loaded.findings));
    }
    command.cluster = std::move(loaded.options.cluster);
    if (command.cluster.name.empty()) {
      return runtime::Error{"no cluster is named (allowed: --name, or --config with cluster.name)"};
    }
    if (command.from && !command.only_shard) {
      return runtime::Error{"--from: is a position in the log of one shard (allowed: together with --shard)"};
    }
    if (command.cluster.brokers.empty()) {
      return runtime::Error{"no broker is named (allowed: --brokers, or --config with cluster.brokers)"};
    }
    if (!file_.empty()) {
      command.file = directory / file_;
    }
    if (!command.sample.empty()) {
      command.sample = directory / command.sample;
    }
    return command;
  }

 private:
  CLI::App* add(ClusterCommand::what what, const char* name, const char* text) {
    CLI::App* const app = cluster_->add_subcommand(name, text);
    app->fallthrough();  // so that cluster's own flags may also follow the subcommand
    subcommands_.emplace_back(what, app);
    return app;
  }

  void add_node(CLI::App* app) {
    app->add_option("NODE", asked_.nodes,
                    "NAME=PEER or NAME=PEER=ADDRESS, addresses as the node's options say")
        ->required()
        ->expected(1);
  }

  void add_init() {
    CLI::App* const init = add(ClusterCommand::what::init, "init", "Make one: its topics, and the first map");
    CLI::Option* const shards =
        init->add_option("--shards", asked_.shards, "Shards that keys are cut into (24)")
            ->type_name("N")
            ->check(CLI::Range(std::uint32_t{1}, kMostShards));
    init->add_option("--replicas", asked_.replicas, "Nodes that keep each shard (2)")
        ->type_name("N")
        ->check(CLI::Range(1, 16));
    init->add_option("--lease", lease_, "An owner that is not heard of for so long is replaced (3s)")
        ->type_name("TIME");
    init->add_option("--copies", asked_.copies, "Brokers that keep each log (3)")
        ->type_name("N")
        ->check(CLI::Range(3, 9));
    init->add_option("--nodes", asked_.nodes,
                     "NAME=PEER or NAME=PEER=ADDRESS of each node, with commas between")
        ->type_name("LIST")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->required();
    init->add_flag("--if-missing", asked_.if_missing, "That there is one already is no error");
    CLI::Option* const sample =
        init->add_option("--from-keys", asked_.sample, "A sample of keys, a line each, to cut evenly by")
            ->type_name("FILE");
    init->add_option("--splits", asked_.splits,
                     "The first keys of all shards but the first, with commas between")
        ->type_name("LIST")
        ->excludes(sample)
        ->excludes(shards);
  }

  CLI::App* cluster_;
  std::vector<std::pair<ClusterCommand::what, CLI::App*>> subcommands_;
  std::string config_;
  std::string name_;
  std::vector<std::string> brokers_;
  std::vector<std::string> sets_;
  std::string lease_;
  std::string file_;  ///< of backup
  ClusterCommand asked_;
};

}  // namespace mxkv::server
