#include "server/daemon/cluster_commands.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <functional>
#include <optional>
#include <random>
#include <set>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "runtime/base/readable.hpp"
#include "server/cluster/cluster_state.hpp"
#include "server/cluster/kafka_board.hpp"
#include "server/cluster/kafka_topic.hpp"
#include "server/cluster/map_writer.hpp"
#include "server/cluster/routes.hpp"
#include "server/cluster/shard_splits.hpp"
#include "server/daemon/cluster_start.hpp"
#include "server/daemon/daemon.hpp"

namespace mxkv::server {
namespace {

using runtime::Error;
using runtime::Result;
using std::chrono::milliseconds;

constexpr int kBrokersMs = 30'000;
constexpr milliseconds kPatience{kBrokersMs};
constexpr milliseconds kHeard{3500};  ///< a live node puts up a word within this time

/// Thrown and caught in this file: ends a command.
struct Refusal {
  int code;
  std::string text;
};

void say(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

std::uint64_t drawn() {
  std::random_device random;
  return ((std::uint64_t{random()} << 32U | random()) & ((std::uint64_t{1} << 53U) - 1)) | 1U;
}

KafkaOptions tool_options(const config::ClusterOptions& cluster) {
  KafkaOptions options = kafka_options(cluster);
  options.append_timeout_ms = kBrokersMs;
  return options;
}

/// The board, read to its end.
struct OpenBoard {
  explicit OpenBoard(const config::ClusterOptions& cluster)
      : board(tool_options(cluster), cluster.name + ".map", view) {
    if (const std::string wrong = read_all(board, view, kPatience); !wrong.empty()) {
      throw Refusal{kExitFailed, "cluster " + cluster.name + ": " + wrong};
    }
  }
  BoardView view;
  KafkaBoard board;
};

void need_map(const OpenBoard& open, const config::ClusterOptions& cluster) {
  if (open.view.history().current() == nullptr) {
    const std::string& complaint = open.view.history().complaint();
    throw Refusal{kExitFailed, "cluster " + cluster.name +
                                   ": there is no map (mxkvd cluster init makes one)" +
                                   (complaint.empty() ? "" : "; ignored: " + complaint)};
  }
}

/// Waits until all nodes were heard, or until all live nodes must have been.
void listen_to_nodes(OpenBoard& open) {
  const auto end = std::chrono::steady_clock::now() + kHeard;
  while (!open.view.all_heard() && std::chrono::steady_clock::now() < end) {
    open.board.poll(50);
  }
}

// -- init

std::vector<ClusterMap::Node> nodes_of(const ClusterCommand& command) {
  std::vector<ClusterMap::Node> nodes;
  for (const std::string& text : command.nodes) {
    Result<ClusterMap::Node> node = parse_cluster_node(text);
    if (!node) {
      throw Refusal{kExitWrongOptions, node.error().message};
    }
    nodes.push_back(std::move(node).value());
  }
  return nodes;
}

/// Rejects an empty key: skipping it would make one shard less than intended.
std::vector<std::string> listed_splits(const std::string& text) {
  std::vector<std::string> splits;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    if (end == begin) {
      throw Refusal{kExitWrongOptions, "--splits: key " + std::to_string(splits.size() + 1) + " of \"" +
                                           text + "\" is empty (allowed: keys with one comma between them)"};
    }
    splits.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return splits;
}

/// Warns of valid maps that may not be the intended ones.
void warn_of_shards(const ClusterCommand& command, const ClusterMap& map) {
  const std::size_t shards = map.shards.size();
  if (shards > kAdvisedShards) {
    complain(kExitOk, ("warning: " + std::to_string(shards) + " shards are more than the advised number (" +
                       std::to_string(kAdvisedShards) +
                       "): even an idle shard sends the brokers three messages a lease, all together " +
                       std::to_string(3000 * shards / map.lease_ms) + " a second with a lease of " +
                       std::to_string(map.lease_ms) + " ms; --lease sets a longer one")
                          .c_str());
  }
  if (shards > 1 && !command.splits && command.sample.empty()) {
    const Routes routes{map.splits()};
    const auto place = [&routes](const char* key) { return std::to_string(routes.shard_of(key)); };
    complain(kExitOk, ("warning: shards are split by the first two bytes of keys, as if all were equally "
                       "likely, and never split again: all of "
                       "user:* lies in shard " +
                       place("user:1") + ", all of session:* in shard " + place("session:1") +
                       ", numbers in shards " + place("0") + " to " + place("9999") +
                       "; --from-keys splits by a sample of your keys, --splits at the keys that you give")
                          .c_str());
  }
}

std::vector<std::string> splits_of(const ClusterCommand& command) {
  if (command.splits) {
    return listed_splits(*command.splits);
  }
  if (command.sample.empty()) {
    return even_splits(command.shards);
  }
  std::ifstream file{command.sample};
  std::vector<std::string> keys;
  for (std::string line; std::getline(file, line);) {
    if (keys.empty()) {
      line = std::string{runtime::without_byte_order_mark(line)};
    }
    if (!line.empty()) {
      keys.push_back(std::move(line));
    }
  }
  if (!file.eof()) {
    throw Refusal{kExitWrongOptions, command.sample.string() + ": cannot be read"};
  }
  Result<std::vector<std::string>> splits = splits_of_sample(std::move(keys), command.shards);
  if (!splits) {
    throw Refusal{kExitWrongOptions, command.sample.string() + ": " + splits.error().message};
  }
  return std::move(splits).value();
}

/// Creates the topic, or checks that an existing one fits.
void need_topic(const KafkaOptions& options, const TopicPlan& plan) {
  const std::string wrong = create_topic(options, plan, kBrokersMs);
  const bool there = wrong.find("already exists") != std::string::npos;
  if (!wrong.empty() && !there) {
    throw Refusal{kExitFailed, wrong};
  }
  std::string dangers;
  for (const std::string& danger : topic_dangers(options, plan, kBrokersMs)) {
    dangers += (dangers.empty() ? "" : "\n") + danger;
  }
  if (!dangers.empty()) {
    throw Refusal{kExitFailed, dangers};
  }
  say("topic " + plan.name + (there ? ": exists and fits\n" : ": created\n"));
}

int make_cluster(const ClusterCommand& command) {
  const config::ClusterOptions& cluster = command.cluster;
  Result<ClusterMap> map =
      first_map(drawn(), command.replicas, cluster.lease_ms, nodes_of(command), splits_of(command));
  if (!map) {
    throw Refusal{kExitWrongOptions, map.error().message};
  }
  warn_of_shards(command, map.value());
  TopicPlan plan{.name = cluster.name + ".map",
                 .partitions = 1,
                 .replicas = static_cast<std::int32_t>(command.copies),
                 .board = true};
  const KafkaOptions options = tool_options(cluster);
  need_topic(options, plan);
  OpenBoard open{cluster};
  const auto refuse_another = [&](const ClusterMap* current) {
    if (current != nullptr) {
      throw Refusal{command.if_missing ? kExitOk : kExitWrongOptions,
                    "cluster " + cluster.name + " has a map already, version " +
                        std::to_string(current->version) + ": nothing was changed"};
    }
  };
  refuse_another(open.view.history().current());
  plan.board = false;
  plan.partitions = static_cast<std::int32_t>(map.value().shards.size());
  for (const char* const topic : {".shards", ".snapshots"}) {
    plan.name = cluster.name + topic;
    need_topic(options, plan);
  }
  const MapEdit first = [&](const ClusterMap* current) {
    refuse_another(current);
    return map;
  };
  const Result<MapWritten> written = write_map(open.board, open.view, first, drawn(), kPatience);
  if (!written) {
    throw Refusal{kExitFailed, written.error().message};
  }
  say("cluster " + cluster.name + ": " + std::to_string(map.value().shards.size()) + " shards, " +
      std::to_string(command.replicas) + " replicas each, on " + std::to_string(map.value().nodes.size()) +
      " nodes\n");
  return kExitOk;
}

// -- state

int show_state(const ClusterCommand& command) {
  OpenBoard open{command.cluster};
  need_map(open, command.cluster);
  listen_to_nodes(open);
  const ClusterState state = open.view.state();
  say(command.json ? state_json(command.cluster.name, state) : state_table(command.cluster.name, state));
  if (const std::string missing = without_owner(state); !missing.empty()) {
    throw Refusal{kExitFailed, "cluster " + command.cluster.name + ": " + missing};
  }
  return kExitOk;
}

// -- changes

Result<ClusterMap> edited(const ClusterCommand& command, const ClusterMap& map) {
  using what = ClusterCommand::what;
  switch (command.asked) {
    case what::move:
      return moved(map, command.shard, command.node);
    case what::drain:
      return drained(map, command.node);
    case what::remove:
      return without_node(map, command.node);
    case what::add: {
      Result<ClusterMap::Node> node = parse_cluster_node(command.nodes.front());
      return node ? with_node(map, node.value()) : Result<ClusterMap>{node.error()};
    }
    case what::settle:
      return settled(map);
    case what::lease:
      return with_lease(map, command.cluster.lease_ms);
    case what::init:
    case what::changes:
    case what::backup:
    case what::status:
      break;
  }
  return Error{"is not a change of the map"};
}

MapWritten change(OpenBoard& open, const ClusterCommand& command) {
  const MapEdit edit = [&command](const ClusterMap* current) { return edited(command, *current); };
  Result<MapWritten> written = write_map(open.board, open.view, edit, drawn(), kPatience);
  if (!written) {
    throw Refusal{kExitWrongOptions, written.error().message};
  }
  say("map " + std::to_string(written.value().map.version) +
      (written.value().lost_races == 0 ? "" : ", on top of another change") + ":\n");
  for (const std::string& line : changes_of(*written.value().before, written.value().map)) {
    say("  " + line + "\n");
  }
  return std::move(written).value();
}

/// Waits until the nodes lack nothing, at most `wait_s`. Returns the last text of `missing_in`.
std::string wait_for_nodes(OpenBoard& open, std::uint32_t wait_s,
                           const std::function<std::string(const ClusterState&)>& missing_in) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{wait_s};
  open.view.forget_who_is_alive();
  std::string missing;
  do {
    open.board.poll(100);
    missing = missing_in(open.view.state());
  } while (!missing.empty() && std::chrono::steady_clock::now() < end);
  return missing;
}

int change_map(const ClusterCommand& command) {
  OpenBoard open{command.cluster};
  need_map(open, command.cluster);
  using what = ClusterCommand::what;
  const bool moves = command.asked == what::move || command.asked == what::drain;
  if (command.asked == what::settle) {
    const auto any_missing = [](const ClusterState& state) { return still_missing(state); };
    if (const std::string missing = wait_for_nodes(open, command.wait_s, any_missing); !missing.empty()) {
      throw Refusal{kExitFailed, missing + ": nothing was changed"};
    }
  }
  const ClusterMap& map = *open.view.history().current();
  if (command.asked == what::move && command.shard < map.shards.size() &&
      map.shards[command.shard].prefers == command.node) {
    say("shard " + std::to_string(command.shard) + " prefers node " + command.node + " already\n");
  } else {
    change(open, command);
  }
  if (command.asked == what::lease && command.wait_s != 0) {
    if (const std::string missing = wait_for_nodes(open, command.wait_s, &follows_another_map);
        !missing.empty()) {
      throw Refusal{kExitFailed, missing + ", after " + std::to_string(command.wait_s) +
                                     " s; it applies the lease as soon as it reads the map"};
    }
    say("done\n");
    return kExitOk;
  }
  if (!moves || command.wait_s == 0) {
    return kExitOk;
  }
  // A move is done when its shard is there, even if other shards still move.
  const auto only = command.asked == what::move ? std::optional{command.shard} : std::nullopt;
  const auto missing_of_it = [only](const ClusterState& state) { return still_missing(state, only); };
  if (const std::string missing = wait_for_nodes(open, command.wait_s, missing_of_it); !missing.empty()) {
    throw Refusal{kExitFailed, missing + ", after " + std::to_string(command.wait_s) +
                                   " s; the map has the new placement: mxkvd cluster settle completes it"};
  }
  if (has_surplus(*open.view.history().current())) {
    ClusterCommand settle = command;
    settle.asked = what::settle;
    change(open, settle);
  }
  say("done\n");
  return kExitOk;
}

}  // namespace

int run_command(const ClusterCommand& command) {
  try {
    switch (command.asked) {
      case ClusterCommand::what::init:
        return make_cluster(command);
      case ClusterCommand::what::changes:
        return tell_changes(command);
      case ClusterCommand::what::backup:
        return write_backup(command);
      case ClusterCommand::what::status:
        return show_state(command);
      default:
        return change_map(command);
    }
  } catch (const Refusal& refusal) {
    return complain(refusal.code, refusal.text.c_str());
  } catch (const std::runtime_error& error) {
    return complain(kExitWrongOptions, error.what());
  }
}

}  // namespace mxkv::server
