#include "tests/simulation/shards_judge.hpp"

#include <algorithm>
#include <variant>

#include "server/cluster/record_body.hpp"
#include "tests/simulation/cluster_common.hpp"

namespace mxkv::simulation {
namespace {

using server::message_effect;

/// A group that counts, and the changes that its records make.
void take_group(ShardsTruth& truth, std::map<std::string, std::uint64_t>& newest, std::string_view body,
                std::uint64_t node, std::uint64_t at_ns, Complaints& complaints) {
  std::map<std::string, std::uint64_t> greatest = newest;
  server::RecordBodyReader reader{body};
  while (const auto entry = reader.next()) {
    const auto [key, order] = std::visit(
        [](const auto& record) -> std::pair<std::string, std::uint64_t> {
          if constexpr (requires { record.key; }) {
            return {std::string{record.key}, record.order};
          } else {
            return {{}, record.order};
          }
        },
        entry->record);
    complaints.unless(order > newest[key], "the orders of a key go back in its log");
    greatest[key] = std::max(greatest[key], order);
    if (!truth.counts.emplace(std::pair{node, order}, at_ns).second) {
      complaints.add("a change counts twice");
    }
  }
  complaints.unless(reader.at_end(), "a log holds what is no body");
  newest = std::move(greatest);
  static_cast<void>(apply_body(truth.items, body));
}

void read_log(const ClusterEngine& log, std::uint32_t shard, ShardsTruth& truth, Complaints& complaints) {
  server::ShardState state;
  std::string parts;
  std::map<std::string, std::uint64_t> newest;
  for (const ClusterEngine::Stored& entry : log.log()) {
    const server::ParsedMessage parsed = server::parse_message(entry.bytes, scope_of(shard));
    if (parsed.flaw != server::message_flaw::none) {
      continue;
    }
    const message_effect effect = state.take(parsed.message);
    if (effect == message_effect::opens) {
      parts.clear();
    }
    if (effect != message_effect::counts || parsed.message.kind != server::message_kind::group) {
      continue;
    }
    parts.append(parsed.message.body);
    if (parsed.message.part + 1 == parsed.message.parts) {
      take_group(truth, newest, std::exchange(parts, {}), parsed.message.node, entry.at_ns, complaints);
    }
  }
}

}  // namespace

ShardsTruth read_logs(const std::deque<ShardsLogs>& logs, Complaints& complaints) {
  ShardsTruth truth;
  for (std::uint32_t shard = 0; shard < logs.size(); ++shard) {
    read_log(logs[shard].changes, shard, truth, complaints);
  }
  return truth;
}

// A replica's answer may be as old as its bound, and was right at some moment since then.
void judge_answers(const std::deque<ShardsRequest>& requests, const ShardsTruth& truth, std::size_t keys,
                   Complaints& complaints, ShardsPaths& paths) {
  using index::testing::verb;
  std::vector<index::testing::KeyHistory> histories(keys);
  for (const ShardsRequest& request : requests) {
    const auto at = truth.counts.find({request.node, request.order});
    const bool changes = request.node != 0;
    const bool counts = changes && at != truth.counts.end();
    const bool told = request.answered_ns != 0;
    paths.unknown += told ? 0 : 1;
    paths.voids += changes && !counts ? 1 : 0;
    if (told && request.told == ShardsRequest::answer::refused) {
      complaints.unless(!changes, "what was refused changed something");
      ++paths.refused;
      continue;
    }
    paths.answered += told ? 1 : 0;
    complaints.unless(!told || !changes || counts, "an acknowledged change does not count");
    if (!told && !counts) {
      continue;  // no change and no answer, or a void change
    }
    // A change that counts was visible when it was stored, whatever answer its client got.
    const verb how = !changes                                      ? verb::find
                     : request.asks == ShardsRequest::what::remove ? verb::remove
                                                                   : verb::upsert;
    index::testing::HistoryEntry entry =
        history_entry(request, how, request.id, told, counts ? std::optional{at->second} : std::nullopt);
    if (request.by_replica) {
      entry.invoked -= std::min(entry.invoked, kStalenessNs * 1000 / kLeastRatePermille);
    }
    histories[request.key].add(entry);
  }
  for (std::size_t key = 0; key < keys; ++key) {
    if (const auto contradiction = histories[key].contradiction()) {
      complaints.add("key " + std::to_string(key) + ": " + *contradiction);
    }
  }
}

}  // namespace mxkv::simulation
