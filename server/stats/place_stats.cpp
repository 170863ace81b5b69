#include "server/stats/place_stats.hpp"

#include <cstddef>
#include <string>

#include "runtime/scheduler/runtime.hpp"
#include "server/stats/stat_text.hpp"
#include "server/store/store.hpp"

namespace mxkv::server {

PlaceSums place_sums(runtime::Runtime& runtime, Store& store) {
  PlaceSums sums{.met = {{{.name = "inner"}, {.name = "leaf"}, {.name = "item"}}}, .of_nodes = {}};
  const std::vector<std::uint32_t>& os_nodes = runtime.options().os_nodes;
  if (os_nodes.size() < 2) {
    return sums;
  }
  for (const std::uint32_t node : os_nodes) {
    sums.of_nodes.emplace_back(node, 0);
  }
  for (std::size_t i = 0; i < runtime.worker_count(); ++i) {
    const WorkerContext& context = store.context(runtime::WorkerId{static_cast<std::uint16_t>(i)});
    if (context.places == nullptr) {
      continue;
    }
    for (std::size_t what = 0; what < kMetMemories; ++what) {
      sums.met[what].all += context.places->all(static_cast<met_memory>(what));
      sums.met[what].remote += context.places->remote(static_cast<met_memory>(what));
    }
    for (std::size_t node = 0; node < os_nodes.size(); ++node) {
      sums.of_nodes[node].second += context.places->of_node(node);
    }
  }
  return sums;
}

void add_place_stats(StatText& text, runtime::Runtime& runtime, Store& store) {
  const PlaceSums sums = place_sums(runtime, store);
  if (sums.of_nodes.empty()) {
    return;
  }
  std::uint64_t all = 0;
  std::uint64_t remote = 0;
  for (const PlaceSums::Met& met : sums.met) {
    text.add("sampled_accesses:" + std::string{met.name}, met.all);
    text.add("remote_accesses:" + std::string{met.name}, met.remote);
    all += met.all;
    remote += met.remote;
  }
  text.add("sampled_accesses", all);
  text.add("remote_accesses", remote);
  for (const auto& [node, count] : sums.of_nodes) {
    text.add("node:" + std::to_string(node) + ":remote_accesses", count);
  }
}

}  // namespace mxkv::server
