// `mxkvd cluster backup`: writes all items of a cluster to a file of mxkv-cli's JSON lines, which `mxkv-cli
// import` puts into any cluster or server. It reads the brokers' logs, shard after shard, and asks no node.
#include <array>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "protocol/clients/cli/failure.hpp"
#include "protocol/clients/cli/transfer/json_lines.hpp"
#include "protocol/clients/cli/transfer/output_file.hpp"
#include "runtime/base/assert.hpp"
#include "server/cluster/shard_copy.hpp"
#include "server/daemon/cluster_board.hpp"

namespace mxkv::server {
namespace {

using std::chrono::steady_clock;
using std::chrono::system_clock;

constexpr int kPatienceMs = 30'000;
constexpr int kPollMs = 100;
/// Each failed attempt means that two snapshots were taken while one was read: memory or the network is too
/// slow.
constexpr int kMostTries = 5;

std::string utc(system_clock::time_point when) {
  const std::time_t seconds = system_clock::to_time_t(when);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

class Backup {
 public:
  Backup(const ClusterCommand& command, LogEngine& engine, CommandBoard& board)
      : command_(command), engine_(engine), board_(board.board), reader_(board.reader), map_(*board.map) {}

  /// Empty: all items were written; else the error.
  std::string write() {
    const std::string path = command_.file.string();
    if (std::filesystem::exists(path)) {
      return path + ": already exists; name another file";
    }
    cli::OutputFile file{path};
    const std::string shards = command_.only_shard ? "shard " + std::to_string(*command_.only_shard)
                                                   : std::to_string(map_.shards.size()) + " shards";
    writer_ = cli::begin_json_lines(
        file, "cluster " + command_.cluster.name + ", " + shards + ", from " + utc(system_clock::now()));
    for (std::uint32_t shard = 0; shard < map_.shards.size(); ++shard) {
      if (command_.only_shard.value_or(shard) != shard) {
        continue;
      }
      if (std::string wrong = copy(shard); !wrong.empty()) {
        return "shard " + std::to_string(shard) + ": " + wrong + "; " + cli::part_name(path) +
               " is not a complete backup";
      }
    }
    writer_->finish(totals_);
    file.commit();
    say(path + ": " + std::to_string(totals_.items) + " items of " + shards + "\n");
    return {};
  }

 private:
  static void say(const std::string& text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
  }

  std::string copy(std::uint32_t shard) {
    const std::string& name = command_.cluster.name;
    const std::int32_t partition = map_.shards[shard].partition;
    const auto log = engine_.open(shards_topic(name), partition);
    const auto snapshots = engine_.open(snapshots_topic(name), partition);
    for (int tries = 0; tries < kMostTries; ++tries) {
      board_.poll(tries == 0 ? 0 : kPollMs);
      const system_clock::time_point moment = system_clock::now();
      ShardCopy made{*log, *snapshots, {.cluster = map_.cluster, .shard = shard}, reader_.snapshot(shard)};
      switch (wait_for(made)) {
        case ShardCopy::state::whole:
          write_items(made, shard, moment);
          return {};
        case ShardCopy::state::broken:
          return made.wrong();
        case ShardCopy::state::reading: {
          const std::string error = engine_.last_error();
          return "the brokers sent nothing for " + std::to_string(kPatienceMs / 1000) + " s" +
                 (error.empty() ? "" : " (" + error + ")");
        }
        case ShardCopy::state::trimmed:
          break;
      }
    }
    return "newer snapshots replaced the one being read, " + std::to_string(kMostTries) +
           " times: raise cluster.snapshot, so that a snapshot lasts longer";
  }

  /// Returns when the copy ends, or when no message has arrived for too long.
  ShardCopy::state wait_for(ShardCopy& made) {
    std::uint64_t progress = made.progress();
    auto last = steady_clock::now();
    while (true) {
      const ShardCopy::state state = made.step();
      if (state != ShardCopy::state::reading) {
        return state;
      }
      if (std::exchange(progress, made.progress()) != made.progress()) {
        last = steady_clock::now();
      } else if (steady_clock::now() - last > std::chrono::milliseconds{kPatienceMs}) {
        return state;
      }
      engine_.poll(kPollMs);
      board_.poll(0);
    }
  }

  void write_items(const ShardCopy& made, std::uint32_t shard, system_clock::time_point moment) {
    MXKV_ASSERT(writer_ != nullptr && shard < map_.shards.size(), "items are written into the file begun");
    std::uint64_t items = 0;
    const auto now = static_cast<std::uint64_t>(system_clock::to_time_t(system_clock::now()));
    for (const auto& [key, item] : made.items()) {
      if (item.expiry != 0 && item.expiry <= now) {
        continue;
      }
      writer_->add(
          {.key = key, .value = item.value, .flags = item.flags, .expires = item.expiry, .unique = item.cas});
      ++items;
      totals_.bytes += key.size() + item.value.size();
    }
    totals_.items += items;
    say("shard " + std::to_string(shard) + ": " + std::to_string(items) + " items, as of " + utc(moment) +
        ", position " + std::to_string(made.end()) + " of its log\n");
  }

  const ClusterCommand& command_;
  LogEngine& engine_;
  Board& board_;
  const BoardReader& reader_;
  const ClusterMap& map_;
  std::unique_ptr<cli::DumpWriter> writer_;
  cli::DumpTotals totals_;
};

}  // namespace

int write_backup(const ClusterCommand& command) {
  const std::string prefix = "cluster " + command.cluster.name + ": ";
  CommandBoard board{command};
  if (!board.map) {
    return kExitFailed;
  }
  if (command.only_shard && *command.only_shard >= board.map->shards.size()) {
    return complain(kExitWrongOptions,
                    (prefix + "there is no shard " + std::to_string(*command.only_shard)).c_str());
  }
  KafkaClient engine{board.kafka};
  try {
    const std::string wrong = Backup{command, engine, board}.write();
    return wrong.empty() ? kExitOk : complain(kExitFailed, (prefix + wrong).c_str());
  } catch (const cli::Failure& failure) {
    return complain(kExitFailed, failure.what());
  }
}

}  // namespace mxkv::server
