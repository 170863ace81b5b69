// The history by the logs of a simulated cluster, and whether the clients' answers fit to it.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/simulation/complaints.hpp"
#include "tests/simulation/shards_process.hpp"
#include "tests/simulation/shards_worker.hpp"
#include "tests/simulation/shards_world.hpp"

namespace mxkv::simulation {

/// By the logs alone. Thread-safety: a value.
struct ShardsTruth {
  ShardsItems items;
  /// For a node and an order: when the node's change with that order was stored so that it counts.
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> counts;
};

/// Complains of logs that no history can have. Thread-safety: any thread.
[[nodiscard]] ShardsTruth read_logs(const std::deque<ShardsLogs>& logs, Complaints& complaints);
/// Checks that each key's answers are linearizable, and that none shows a change that does not count.
void judge_answers(const std::deque<ShardsRequest>& requests, const ShardsTruth& truth, std::size_t keys,
                   Complaints& complaints, ShardsPaths& paths);

}  // namespace mxkv::simulation
