// An extra look-up for a sampled request. It counts the NUMA nodes of the memory it reads, and has no reply.
#pragma once

#include <string_view>

#include "server/store/core/place_counters.hpp"
#include "server/store/core/store_task.hpp"

namespace mxkv::server {

class WhereTask final : public index::LookupTask<WhereTask, ItemTraits> {
  using Base = index::LookupTask<WhereTask, ItemTraits>;

 public:
  static constexpr const char* kName = "look where it is";
  static constexpr bool kOwnLoops = false;  // one in many requests

  WhereTask(const runtime::TaskClass* task_class, ItemTree& tree, std::string_view key, PlaceCounters& places,
            runtime::NumaNodeId here) noexcept
      : Base(task_class, tree),
        places_(places),
        here_(here),
        key_bytes_(static_cast<std::uint8_t>(key.size())) {
    TrailingKey::store(this, key);
  }

  // --- For LookupTask ---
  [[nodiscard]] std::string_view key() const noexcept { return TrailingKey::load(this, key_bytes_); }
  void came_from(runtime::TaggedPointer node) noexcept {
    if (node) {
      meets(met_memory::inner_node, tree().runtime().node_space().node_of(node.object()));
    }
  }
  runtime::step on_found(std::uint64_t value, runtime::Worker& worker) {
    meets(met_memory::item, worker.runtime().item_space().node_of(ItemRecord::item(value)));
    return on_missing(worker);
  }
  runtime::step on_missing(runtime::Worker& worker) {
    meets(met_memory::leaf, worker.runtime().node_space().node_of(&leaf()));
    return runtime::step::done;
  }

 private:
  void meets(met_memory what, runtime::NumaNodeId home) noexcept { places_.count(what, home, here_); }

  PlaceCounters& places_;
  runtime::NumaNodeId here_;
  std::uint8_t key_bytes_;
};

}  // namespace mxkv::server

MXKV_TASK_CLASS(extern, mxkv::server::WhereTask);
