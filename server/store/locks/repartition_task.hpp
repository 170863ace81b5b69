// Redraws the map of keys to slots, so that each slot holds about as many items as any other.
//
// Random walks to leaves (index/sample_task.hpp) find keys, each with the number of items that it stands for.
// The separators divide the total weight into equal parts. Requests run on meanwhile. Then an operation that
// holds all keys replaces the map; operations that wait in Toggle are placed by the new one.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "index/sample_task.hpp"
#include "server/store/core/store_task.hpp"
#include "server/store/locks/range_locks.hpp"

namespace mxkv::server {

/// The keys found, with their weights. Plain.
class SlotSamples {
 public:
  void add(std::string_view key, double weight) {
    MXKV_ASSERT(weight >= 1, "a sample stands for an item or more");
    samples_.emplace_back(key, weight);
  }
  [[nodiscard]] std::size_t count() const noexcept { return samples_.size(); }
  /// A map of at most `most` slots.
  [[nodiscard]] std::unique_ptr<KeyPartition::Map> draw(std::uint32_t most);

 private:
  std::vector<std::pair<std::string, double>> samples_;
};

class RepartitionTask final : public index::SampleTask<RepartitionTask, ItemTraits> {
 public:
  static constexpr const char* kName = "draw slots";
  /// For each slot that the map may have.
  static constexpr std::size_t kWalksPerSlot = 8;

  /// For about `items` items. Sets `drawing` to false when it has ended.
  RepartitionTask(const runtime::TaskClass* task_class, ItemTree& tree, RangeLocks& locks,
                  std::atomic<bool>& drawing, std::uint64_t items, std::uint64_t seed)
      : SampleTask(task_class, tree, seed), locks_(&locks), drawing_(&drawing), items_(items) {
    samples_ = new SlotSamples;
  }

  // --- For SampleTask ---
  [[nodiscard]] static std::string_view key() noexcept { return {}; }
  [[nodiscard]] static bool ends_before(std::string_view /*key*/) noexcept { return false; }
  bool walked(const index::Entries& leaf, double weight, bool whole, runtime::Worker& worker);
  runtime::step finished(runtime::Worker& worker);
  runtime::step resume_item(runtime::Worker& worker);
  void discard(runtime::Worker& worker);

  // --- For RangeLock ---
  [[nodiscard]] static runtime::SlotInterval held_slots(const KeyPartition& slots) noexcept {
    return slots.all();
  }
  [[nodiscard]] static bool only_reads() noexcept { return false; }
  void begin(RangeLock& lock, runtime::Worker& worker);

 private:
  RangeLocks* locks_;
  SlotSamples* samples_;
  std::atomic<bool>* drawing_;
  std::uint64_t items_;
  std::size_t walks_ = 0;
};

}  // namespace mxkv::server
