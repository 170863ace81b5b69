// An extra look-up for a sampled request. It counts the NUMA nodes of the memory it reads, and a hit or a miss of the
// key's quota: so a GET pays for neither. It has no reply.
#pragma once

#include <string_view>

#include "server/store/core/item_counts.hpp"
#include "server/store/core/place_counters.hpp"
#include "server/store/core/store_task.hpp"

namespace mxkv::server {

class WhereTask final : public index::LookupTask<WhereTask, ItemTraits> {
  using Base = index::LookupTask<WhereTask, ItemTraits>;

 public:
  static constexpr const char* kName = "look where it is";
  static constexpr bool kOwnLoops = false;  // one in many requests

  /// `places`: null: the machine has one node. `of_quota`: counts a hit or a miss.
  WhereTask(const runtime::TaskClass* task_class, ItemTree& tree, std::string_view key, PlaceCounters* places,
            runtime::NumaNodeId here, bool of_quota) noexcept
      : Base(task_class, tree),
        places_(places),
        here_(here),
        of_quota_(of_quota),
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
    const Item& item = *ItemRecord::item(value);
    meets(met_memory::item, worker.runtime().item_space().node_of(&item));
    return ends(is_live(item, worker), worker);
  }
  runtime::step on_missing(runtime::Worker& worker) { return ends(false, worker); }

 private:
  void meets(met_memory what, runtime::NumaNodeId home) noexcept {
    if (places_ != nullptr) {
      places_->count(what, home, here_);
    }
  }
  runtime::step ends(bool hit, runtime::Worker& worker) {
    meets(met_memory::leaf, worker.runtime().node_space().node_of(&leaf()));
    if (of_quota_) {
      count_of_quota(worker.local<WorkerContext>(), key(),
                     hit ? quota_count::sampled_hits : quota_count::sampled_misses);
    }
    return runtime::step::done;
  }

  PlaceCounters* places_;
  runtime::NumaNodeId here_;
  bool of_quota_;
  std::uint8_t key_bytes_;
};

}  // namespace mxkv::server

MXKV_TASK_CLASS(extern, mxkv::server::WhereTask);
