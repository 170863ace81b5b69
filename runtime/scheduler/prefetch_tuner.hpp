// Finds the prefetch distance for a worker while it works [Mx 3, "dynamically adjust the prefetch distance"].
//
// A state machine without a clock. The worker tells it how long tasks took under the setting in force, and it
// says which setting comes next. Two states take turns:
//
//   survey   Candidates run in turn, forth and back, for a period of kPeriodTasks each. Each one's median
//            counts, so that neither single disturbances nor a drift favour one. First, kFirstRounds
//            times, at spawn and 1, 2, 4 .. 64, most of which are bad. Then, kRounds times, distances around
//            the best one; then, closer, again.
//   settled  The best is in force. The next survey comes after kTasksBetweenSurveys, or when the cost of a
//            task has changed a lot, but not before kTasksBeforeEarlySurvey. Surveys thus take about one
//            task in a hundred.
//
// The setting before a survey stays unless another is better by more than noise (kHysteresis).
// `off` is no candidate: on data in a near cache it would win little, and lose much when that changes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "runtime/options.hpp"

namespace mxkv::runtime {

/// Thread-safety: owner worker only.
class PrefetchTuner {
 public:
  /// Tasks of a candidate's turn that count, and the tasks before them that do not: the buffer still holds
  /// tasks that the setting before prefetched.
  static constexpr std::uint64_t kPeriodTasks = 1024;
  static constexpr std::uint64_t kUncountedTasks = 256;
  static constexpr std::size_t kFirstRounds = 7;
  static constexpr std::size_t kRounds = 15;
  static constexpr std::uint64_t kTasksBetweenSurveys = std::uint64_t{1} << 25U;
  static constexpr std::uint64_t kTasksBeforeEarlySurvey = std::uint64_t{1} << 23U;
  static constexpr double kHysteresis = 0.02;
  static constexpr double kChange = 0.25;  ///< of a task's cost, that brings the next survey forward

  /// Begins with a survey; `window` as in PrefetchOptions.
  explicit PrefetchTuner(std::uint32_t window) noexcept;

  /// The setting to be in force now.
  [[nodiscard]] PrefetchOptions setting() const noexcept;
  /// Whether the tasks that run next are to be timed; settled, few are.
  [[nodiscard]] bool wants_time() const noexcept { return surveying_ || looks_ % kSettledLooks == 0; }
  /// `tasks` were executed and took `ns`. Returns whether setting() changed.
  bool add(std::uint64_t tasks, std::uint64_t ns) noexcept;
  /// `tasks` were executed, not timed.
  void add_untimed(std::uint64_t tasks) noexcept;

  [[nodiscard]] bool surveying() const noexcept { return surveying_; }
  /// Surveys that ended.
  [[nodiscard]] std::uint64_t surveys() const noexcept { return surveys_; }

 private:
  using Candidate = std::uint32_t;  // a distance, or kAtSpawn
  static constexpr Candidate kAtSpawn = 0;
  static constexpr std::uint32_t kMostDistance = 64;
  static constexpr std::size_t kMostCandidates = 10;
  static constexpr std::uint64_t kSettledLooks = 8;
  static constexpr int kLastStage = 2;

  using Costs = std::array<double, kRounds>;

  void begin_survey() noexcept;
  void begin_stage() noexcept;
  void add_candidate(Candidate candidate) noexcept;
  void survey(double cost) noexcept;
  void end_stage() noexcept;
  void watch(double cost) noexcept;
  void put_in_force(Candidate candidate) noexcept;
  [[nodiscard]] std::size_t rounds() const noexcept { return stage_ == 0 ? kFirstRounds : kRounds; }
  /// Which candidate's turn it is: odd rounds go backwards.
  [[nodiscard]] std::size_t turn() const noexcept {
    return round_ % 2 == 0 ? position_ : candidate_count_ - 1 - position_;
  }

  std::uint32_t window_;
  Candidate in_force_ = kAtSpawn;
  Candidate before_ = kAtSpawn;  ///< in force when the survey began
  bool surveying_ = false;
  int stage_ = 0;
  std::size_t round_ = 0;
  std::size_t position_ = 0;
  std::size_t candidate_count_ = 0;
  std::array<Candidate, kMostCandidates> candidates_{};
  std::array<Costs, kMostCandidates> costs_{};  ///< ns a task, by candidate and round
  std::uint64_t uncounted_ = 0;                 ///< tasks of this turn that do not count yet
  std::uint64_t period_tasks_ = 0;
  std::uint64_t period_ns_ = 0;
  std::uint64_t looks_ = 0;
  std::uint64_t since_survey_ = 0;  ///< tasks
  double settled_cost_ = 0;         ///< ns a task, of the winner in its survey
  Costs recent_{};                  ///< the last periods while settled
  std::size_t recent_count_ = 0;
  std::uint64_t surveys_ = 0;
};

}  // namespace mxkv::runtime
