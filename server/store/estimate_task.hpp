// mc without e: what a range of many leaves holds, by random walks (index/sample_task.hpp). It goes on where
// a CountTask that counted the first leaves gave up, so that small ranges are exact and what is estimated is
// wide.
#pragma once

#include "index/sample_task.hpp"
#include "server/reply/reply_directory.hpp"
#include "server/store/range_tally.hpp"
#include "server/store/range_walk.hpp"
#include "server/store/store_task.hpp"

namespace mxkv::server {

class EstimateTask final : public index::SampleTask<EstimateTask, ItemTraits>, public RangeWalk {
  using Base = index::SampleTask<EstimateTask, ItemTraits>;

 public:
  static constexpr const char* kName = "range estimate";
  static constexpr std::uint32_t kWalks = 256;

  /// Takes over `state`; the range goes on at `from`, what is before it is `counted`.
  EstimateTask(const runtime::TaskClass* task_class, ItemTree& tree, std::string_view from,
               const RangeTally& counted, RangeState& state, const ReplyAddress& address,
               std::uint64_t seed) noexcept;

  // --- For SampleTask ---
  [[nodiscard]] bool ends_before(std::string_view key) const noexcept { return state_->beyond(key); }
  bool walked(const index::Entries& leaf, double weight, bool whole, runtime::Worker& worker);
  runtime::step finished(runtime::Worker& worker);
  void discard(runtime::Worker& worker) { release(worker); }

 private:
  RangeTally counted_;
  double items_ = 0;  ///< sums over the walks
  double squares_ = 0;
  double bytes_ = 0;
  std::uint32_t walks_ = 0;
};

static_assert(sizeof(EstimateTask) <= runtime::kLargestTaskBytes);

}  // namespace mxkv::server
