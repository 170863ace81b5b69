// mc without e: what a range of many leaves holds, by random walks (index/sample_task.hpp). It goes on where
// a CountTask that counted the first leaves gave up, so that small ranges are exact and what is estimated is
// wide. What is told of the error holds for items and bytes alike: where a few values make up most of the
// bytes, those are much less sure.
#pragma once

#include "index/sample_task.hpp"
#include "server/reply/connection_table.hpp"
#include "server/store/range/range_tally.hpp"
#include "server/store/range/range_walk.hpp"
#include "server/store/store_task.hpp"

namespace mxkv::server {

class EstimateTask final : public index::SampleTask<EstimateTask, ItemTraits>, public RangeWalk {
  using Base = index::SampleTask<EstimateTask, ItemTraits>;

 public:
  static constexpr const char* kName = "range estimate";
  static constexpr std::uint32_t kWalks = 256;
  static constexpr std::uint32_t kMostWalks =
      1024;  ///< where sizes differ so much that bytes are less sure than items

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
  /// What walks found of one thing.
  struct Found {
    double sum = 0;
    double squares = 0;
    double cubes = 0;

    void add(double number) noexcept;
    /// Twice the standard error of the mean, wider where a few walks found far more than the others: of such,
    /// more have yet to be met.
    [[nodiscard]] double margin(double walks) const noexcept;
  };

  RangeTally counted_;
  Found items_;
  Found bytes_;
  std::uint32_t walks_ = 0;
};

static_assert(sizeof(EstimateTask) <= runtime::kLargestTaskBytes);

}  // namespace mxkv::server
