#include "server/stats/place_stats.hpp"

#include <array>
#include <string>
#include <utility>

#include "runtime/scheduler/runtime.hpp"
#include "server/stats/stat_text.hpp"
#include "server/store/store.hpp"

namespace mxkv::server {

namespace {
constexpr std::array kMet{std::pair{met_memory::inner_node, "inner"}, std::pair{met_memory::leaf, "leaf"},
                          std::pair{met_memory::item, "item"}};
}  // namespace

void add_place_stats(StatText& text, runtime::Runtime& runtime, Store& store) {
  const std::vector<std::uint32_t>& os_nodes = runtime.options().os_nodes;
  const auto sum = [&](const auto& value) {
    std::uint64_t all = 0;
    for (std::size_t i = 0; i < runtime.worker_count(); ++i) {
      const WorkerContext& context = store.context(runtime::WorkerId{static_cast<std::uint16_t>(i)});
      all += context.places == nullptr ? 0 : value(*context.places);
    }
    return all;
  };
  if (os_nodes.size() < 2) {
    return;
  }
  std::uint64_t all = 0;
  std::uint64_t remote = 0;
  for (const auto& [what, name] : kMet) {
    const std::uint64_t these = sum([what](const PlaceCounters& one) { return one.all(what); });
    const std::uint64_t far = sum([what](const PlaceCounters& one) { return one.remote(what); });
    text.add("sampled_accesses:" + std::string{name}, these);
    text.add("remote_accesses:" + std::string{name}, far);
    all += these;
    remote += far;
  }
  text.add("sampled_accesses", all);
  text.add("remote_accesses", remote);
  for (std::size_t node = 0; node < os_nodes.size(); ++node) {
    text.add("node:" + std::to_string(os_nodes[node]) + ":remote_accesses",
             sum([node](const PlaceCounters& one) { return one.of_node(node); }));
  }
}

}  // namespace mxkv::server
