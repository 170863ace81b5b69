// `mxkvd cluster changes`: the change feed, for programs that read lines.
#include <chrono>
#include <cstdio>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "server/cluster/change_feed.hpp"
#include "server/daemon/cluster_board.hpp"

namespace mxkv::server {
namespace {

using std::chrono::steady_clock;

/// The feeds of all shards, and the time of the last change.
class Changes {
 public:
  Changes(LogEngine& engine, const ClusterMap& map, const BoardReader& reader,
          const ClusterCommand& command) {
    for (std::uint32_t shard = 0; shard < map.shards.size(); ++shard) {
      if (command.only_shard.value_or(shard) != shard) {
        continue;
      }
      const std::optional<SnapshotEntry> snapshot = reader.snapshot(shard);
      ChangeFeed& feed = feeds_.emplace_back(MessageScope{.cluster = map.cluster, .shard = shard},
                                             [this](const FedChange& change) { tell(change); });
      logs_.push_back(engine.open(shards_topic(command.cluster.name), map.shards[shard].partition));
      logs_.back()->read(command.from.value_or(snapshot ? snapshot->before : 0), feed);
      shards_.push_back(shard);
    }
  }

  /// The number of a shard whose log begins too late; none: all begin early enough.
  [[nodiscard]] std::optional<std::uint32_t> cut_off() const {
    for (std::size_t i = 0; i < feeds_.size(); ++i) {
      if (feeds_[i].cut_off()) {
        return shards_[i];
      }
    }
    return std::nullopt;
  }
  [[nodiscard]] bool empty() const noexcept { return feeds_.empty(); }
  [[nodiscard]] steady_clock::time_point last() const noexcept { return last_; }

 private:
  void tell(const FedChange& change) {
    last_ = steady_clock::now();
    const std::string line = change_json(change) + "\n";
    std::fwrite(line.data(), 1, line.size(), stdout);
  }

  std::deque<ChangeFeed> feeds_;
  std::vector<std::unique_ptr<OrderedLog>> logs_;
  std::vector<std::uint32_t> shards_;
  steady_clock::time_point last_ = steady_clock::now();
};

}  // namespace

int tell_changes(const ClusterCommand& command) {
  constexpr int kLookMs = 100;
  const std::string prefix = "cluster " + command.cluster.name + ": ";
  const CommandBoard board{command};
  if (!board.map) {
    return kExitFailed;
  }
  KafkaClient engine{board.kafka};
  Changes changes{engine, *board.map, board.reader, command};
  if (changes.empty()) {
    return complain(kExitWrongOptions,
                    (prefix + "there is no shard " + std::to_string(*command.only_shard)).c_str());
  }
  while (command.idle_s == 0 || steady_clock::now() < changes.last() + std::chrono::seconds{command.idle_s}) {
    engine.poll(kLookMs);
    if (std::fflush(stdout) != 0) {
      return complain(kExitFailed, "standard output takes no more");
    }
    if (const std::optional<std::uint32_t> shard = changes.cut_off()) {
      return complain(kExitFailed, (prefix + "the log of shard " + std::to_string(*shard) +
                                    " begins later: what was before is in its snapshot alone")
                                       .c_str());
    }
  }
  return kExitOk;
}

}  // namespace mxkv::server
