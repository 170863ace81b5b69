#include "runtime/scheduler/prefetch_tuner.hpp"

#include <algorithm>
#include <cmath>

#include "runtime/base/assert.hpp"

namespace mxkv::runtime {

namespace {

/// The median of the first `count` values; it changes their order.
template <std::size_t kMost>
double median(std::array<double, kMost>& values, std::size_t count) noexcept {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(count / 2);
  std::nth_element(values.begin(), middle, values.begin() + static_cast<std::ptrdiff_t>(count));
  return *middle;
}

}  // namespace

PrefetchTuner::PrefetchTuner(std::uint32_t window) noexcept : window_(window) {
  begin_survey();
}

PrefetchOptions PrefetchTuner::setting() const noexcept {
  return in_force_ == kAtSpawn ? PrefetchOptions{prefetch_mode::at_spawn, 1, window_}
                               : PrefetchOptions{prefetch_mode::distance, in_force_, window_};
}

bool PrefetchTuner::add(std::uint64_t tasks, std::uint64_t ns) noexcept {
  ++looks_;
  since_survey_ += tasks;
  if (uncounted_ > 0) {
    uncounted_ -= std::min(uncounted_, tasks);
    return false;
  }
  period_tasks_ += tasks;
  period_ns_ += ns;
  if (period_tasks_ < kPeriodTasks) {
    return false;
  }
  const double cost = static_cast<double>(period_ns_) / static_cast<double>(period_tasks_);
  period_tasks_ = 0;
  period_ns_ = 0;
  const Candidate was = in_force_;
  if (surveying_) {
    survey(cost);
  } else {
    watch(cost);
  }
  return in_force_ != was;
}

void PrefetchTuner::add_untimed(std::uint64_t tasks) noexcept {
  ++looks_;
  since_survey_ += tasks;
}

void PrefetchTuner::put_in_force(Candidate candidate) noexcept {
  if (candidate != in_force_) {
    in_force_ = candidate;
    uncounted_ = kUncountedTasks;
  }
}

void PrefetchTuner::add_candidate(Candidate candidate) noexcept {
  const auto end = candidates_.begin() + static_cast<std::ptrdiff_t>(candidate_count_);
  if (candidate > std::min(kMostDistance, window_) || std::find(candidates_.begin(), end, candidate) != end) {
    return;
  }
  MXKV_ASSERT(candidate_count_ < kMostCandidates, "a stage has a bounded number of candidates");
  candidates_[candidate_count_++] = candidate;
}

void PrefetchTuner::begin_survey() noexcept {
  MXKV_ASSERT(!surveying_, "a survey begins when the one before has ended");
  surveying_ = true;
  stage_ = 0;
  before_ = in_force_;
  candidate_count_ = 0;
  add_candidate(kAtSpawn);
  for (Candidate distance = 1; distance <= kMostDistance; distance *= 2) {
    add_candidate(distance);
  }
  add_candidate(before_);
  begin_stage();
}

void PrefetchTuner::begin_stage() noexcept {
  MXKV_ASSERT(surveying_ && candidate_count_ > 1, "a stage compares candidates");
  round_ = 0;
  position_ = 0;
  put_in_force(candidates_[turn()]);
}

void PrefetchTuner::survey(double cost) noexcept {
  MXKV_ASSERT(surveying_ && position_ < candidate_count_ && round_ < rounds(), "a stage has a turn left");
  costs_[turn()][round_] = cost;
  if (++position_ == candidate_count_) {
    position_ = 0;
    if (++round_ == rounds()) {
      end_stage();
      return;
    }
  }
  put_in_force(candidates_[turn()]);
}

void PrefetchTuner::end_stage() noexcept {
  MXKV_ASSERT(round_ == rounds() && stage_ <= kLastStage, "all rounds of the stage are through");
  std::size_t best = 0;
  std::size_t before = 0;
  std::size_t best_distance = 1;  // at spawn is the first candidate, and never the only one
  std::array<double, kMostCandidates> costs{};
  for (std::size_t i = 0; i < candidate_count_; ++i) {
    costs[i] = median(costs_[i], rounds());
    best = costs[i] < costs[best] ? i : best;
    best_distance = i > 1 && costs[i] < costs[best_distance] ? i : best_distance;
    before = candidates_[i] == before_ ? i : before;
  }
  if (stage_ < kLastStage) {
    ++stage_;
    const Candidate distance = candidates_[best_distance];
    const Candidate step = stage_ == 1 ? distance / 4 : std::max(1U, distance / 8);
    candidate_count_ = 0;
    add_candidate(kAtSpawn);
    add_candidate(distance);
    add_candidate(std::max(1U, distance - step));
    add_candidate(distance + step);
    if (stage_ == 1) {
      add_candidate(distance + distance / 2);  // half way to twice as far, which lost
    }
    add_candidate(before_);
    begin_stage();
    return;
  }
  const std::size_t winner = costs[before] <= costs[best] * (1 + kHysteresis) ? before : best;
  settled_cost_ = costs[winner];
  put_in_force(candidates_[winner]);
  surveying_ = false;
  recent_count_ = 0;
  since_survey_ = 0;
  ++surveys_;
}

void PrefetchTuner::watch(double cost) noexcept {
  MXKV_ASSERT(!surveying_ && recent_count_ < kRounds, "only a settled tuner watches");
  recent_[recent_count_++] = cost;
  if (recent_count_ < kRounds) {
    return;
  }
  recent_count_ = 0;
  const bool changed = std::abs(median(recent_, kRounds) - settled_cost_) > kChange * settled_cost_;
  if (since_survey_ >= kTasksBetweenSurveys || (changed && since_survey_ >= kTasksBeforeEarlySurvey)) {
    begin_survey();
  }
}

}  // namespace mxkv::runtime
