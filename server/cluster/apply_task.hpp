// Applies a log's record of one key to the tree: like a client's write, but with the record's order.
//
// The record takes effect only if the tree has no greater order for the key. So a log may be applied again
// from an earlier position, and newer items, from a copy made meanwhile, stay.
#pragma once

#include <cstdint>
#include <string_view>

#include "server/cluster/apply_stage.hpp"
#include "server/cluster/record_body.hpp"
#include "server/store/core/store_task.hpp"

namespace mxkv::server {

class ApplyLane;

/// How long a task that finds no memory waits for removed items to be freed.
inline constexpr std::uint64_t kApplyPatienceNs = 1'000'000'000;

class ApplyTask final : public index::UpdateTask<ApplyTask, ItemTraits> {
  using Base = index::UpdateTask<ApplyTask, ItemTraits>;

 public:
  static constexpr const char* kName = "apply record";
  static constexpr bool kOwnLoops = false;

  /// `item`: the value of a put, which the task owns. `expiry`: the expiry of a touch, in steady seconds. The
  /// bytes of `key` outlive the task, and so does the stage, which has the record.
  ApplyTask(const runtime::TaskClass* task_class, ItemTree& tree, ApplyLane& lane, ApplyStage& stage,
            record_type what, std::uint64_t order, std::string_view key, Item* item,
            std::uint32_t expiry) noexcept
      : Base(task_class, tree),
        lane_(lane),
        stage_(stage),
        key_(key.data()),
        item_(item),
        order_(order),
        expiry_(expiry),
        key_bytes_(static_cast<std::uint8_t>(key.size())),
        what_(what) {
    annotate(runtime::priority::low);
  }

  // --- For UpdateTask ---
  [[nodiscard]] std::string_view key() const noexcept { return {key_, key_bytes_}; }
  [[nodiscard]] unsigned record_lines(std::uint64_t word) const noexcept {
    return ItemRecord::key_lines(word, key_bytes_);
  }
  index::Decision decide(bool found, std::uint64_t old, runtime::Worker& worker);
  index::Change commit(ItemNode& leaf, bool found, std::uint64_t old, std::uint64_t value,
                       runtime::Worker& worker) noexcept;
  void change_record(std::uint64_t word, runtime::Worker& worker) noexcept;
  runtime::step committed(bool found, std::uint64_t old, runtime::Worker& worker);
  runtime::step left(bool found, std::uint64_t old, runtime::Worker& worker);
  runtime::step out_of_memory(runtime::Worker& worker);
  void discard(runtime::Worker& worker) { drop_item(worker); }

 private:
  [[nodiscard]] index::Decision touch(const Item& old, runtime::Worker& worker);
  void drop_item(runtime::Worker& worker) noexcept;
  runtime::step ended(runtime::Worker& worker);

  ApplyLane& lane_;
  ApplyStage& stage_;
  const char* key_;
  Item* item_;  ///< the item to put; for a touch, the copy that it had to make
  std::uint64_t order_;
  std::uint64_t short_since_ns_ = 0;  ///< 0: no shortage of memory
  std::uint32_t expiry_;
  std::uint8_t key_bytes_;
  record_type what_;
  bool lacks_memory_ = false;
};

static_assert(sizeof(ApplyTask) <= runtime::kLargestTaskBytes);

}  // namespace mxkv::server
