// mc: counts one part of a large range, on the worker that took the part.
#pragma once

#include "server/store/range/range_parts.hpp"

namespace mxkv::server {

class CountPartTask final : public index::ScanTask<CountPartTask, ItemTraits>, public PartWalk {
  using Base = index::ScanTask<CountPartTask, ItemTraits>;

 public:
  static constexpr const char* kName = "range count part";
  /// So many leaves pass between two checks for the client, if another worker has to be asked.
  static constexpr std::uint32_t kLeavesPerLook = 1024;

  /// Counts a part on this worker. `bounded`: refuses to count more items than the state's limit.
  static void begin(ItemTree& tree, RangePartTask& part, bool with_numbers, bool bounded,
                    runtime::Worker& worker);

  // --- For ScanTask ---
  class Leaf;
  [[nodiscard]] Leaf leaf_visitor(runtime::Worker& worker);
  runtime::step finished(bool exhausted, runtime::Worker& worker);

 private:
  /// Whether all entries of the leaf just read lie before the end of the part.
  [[nodiscard]] bool leaf_is_inside() const noexcept;

  friend class runtime::Worker;  // makes it
  CountPartTask(const runtime::TaskClass* task_class, ItemTree& tree, RangePartTask& part, bool with_numbers,
                bool bounded, runtime::Worker& worker);

  RangeTally tally_;
  std::uint32_t leaves_ = 0;
  bool with_numbers_;
  bool bounded_;
};

static_assert(sizeof(CountPartTask) <= runtime::kLargestTaskBytes);

}  // namespace mxkv::server
