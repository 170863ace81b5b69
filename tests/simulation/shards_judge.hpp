// What the logs of a simulated cluster say that happened, and whether what clients were told fits to it.
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
  /// When what a node changed with an order was stored so that it counts.
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> counts;
};

/// Complains of what no history can be. Thread-safety: any thread.
[[nodiscard]] ShardsTruth read_logs(const std::deque<ShardsLogs>& logs, Complaints& complaints);
/// Each key's answers are linearizable, and none tells of what does not count.
void judge_answers(const std::deque<ShardsRequest>& requests, const ShardsTruth& truth, std::size_t keys,
                   Complaints& complaints, ShardsPaths& paths);

}  // namespace mxkv::simulation
