// mc without e: estimates a range of many leaves by random walks (index/sample_task.hpp). It takes over from
// a CountTask that has counted the first leaves. So small ranges are exact, and only wide ones are estimated.
// The printed error holds for items and bytes alike; if a few values make up most of the bytes, the bytes are
// much less certain.
#pragma once

#include "index/sample_task.hpp"
#include "server/reply/connection_table.hpp"
#include "server/store/core/store_task.hpp"
#include "server/store/range/range_tally.hpp"
#include "server/store/range/range_walk.hpp"

namespace mxkv::server {

class EstimateTask final : public index::SampleTask<EstimateTask, ItemTraits>, public RangeWalk {
  using Base = index::SampleTask<EstimateTask, ItemTraits>;

 public:
  static constexpr const char* kName = "range estimate";
  static constexpr std::uint32_t kWalks = 256;
  static constexpr std::uint32_t kMostWalks =
      1024;  ///< if sizes differ so much that the bytes are less certain than the items

  /// Takes over `state`. The rest of the range begins at `from`; `counted` has the items before it.
  EstimateTask(const runtime::TaskClass* task_class, ItemTree& tree, std::string_view from,
               const RangeTally& counted, RangeState& state, const ReplyAddress& address,
               std::uint64_t seed) noexcept;

  // --- For SampleTask ---
  [[nodiscard]] bool ends_before(std::string_view key) const noexcept { return state_->beyond(key); }
  bool walked(const index::Entries& leaf, double weight, bool whole, runtime::Worker& worker);
  runtime::step finished(runtime::Worker& worker);
  void discard(runtime::Worker& worker) { release(worker); }

 private:
  /// The walks' findings for one quantity.
  struct Found {
    double sum = 0;
    double squares = 0;
    double cubes = 0;

    void add(double number) noexcept;
    /// Twice the standard error of the mean. It is wider if a few walks found far more than the others, since
    /// more such leaves are probably left.
    [[nodiscard]] double margin(double walks) const noexcept;
  };

  RangeTally counted_;
  Found items_;
  Found bytes_;
  std::uint32_t walks_ = 0;
};

static_assert(sizeof(EstimateTask) <= runtime::kLargestTaskBytes);

}  // namespace mxkv::server
