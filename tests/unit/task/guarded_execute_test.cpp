// Guarded execution of reads, and of tasks that run alone, under each primitive.
#include "runtime/synchronization/guarded_execute.hpp"

#include <gtest/gtest.h>

#include <optional>

#include "tests/unit/task/guarded_tasks.hpp"

namespace mxkv::runtime {
namespace {

using testing::ReadingTask;
using testing::WritingTask;
using GuardedRead = testing::GuardedExecution;
using GuardedExecute = testing::GuardedExecution;

/// Runs alone or under the latch.
class LonelyTask final : public MxTask {
 public:
  explicit LonelyTask(testing::Words<>& words) : MxTask(nullptr), words_(&words) {
    annotate(words.tagged(), 64);
  }
  step execute(Worker& /*worker*/) {
    ++executed;
    latched = OptimisticRead{*words_}.locked();
    return step::done;
  }
  int executed = 0;
  bool latched = false;

 private:
  testing::Words<>* words_;
};

static_assert(SplitTask<ReadingTask> && !UpgradingTask<ReadingTask> && !ExecutingTask<ReadingTask>);
static_assert(UpgradingTask<WritingTask>);
static_assert(ExecutingTask<LonelyTask> && !SplitTask<LonelyTask>);

TEST_F(GuardedRead, ResumesWithWhatItInspectedAndRemembersTheVersion) {
  for (const primitive how : {primitive::optimistic_latch, primitive::optimistic_scheduling}) {
    use(how);
    script = {};
    write(11);
    ReadingTask task{words(), script};
    EXPECT_EQ(run(task), step::done);
    EXPECT_EQ(script.inspects, 1U);
    EXPECT_EQ(script.resumes, 1);
    EXPECT_EQ(script.value, 11U);
    EXPECT_EQ(task.seen_version(), OptimisticRead{words()}.version());
    EXPECT_FALSE(script.latched_in_resume) << "reading takes no latch";
  }
}

TEST_F(GuardedRead, InspectsAgainWhenAWriterCameAndResumesOnce) {
  use(primitive::optimistic_latch);
  script.during_inspect = {[this] { write(1); }, [this] { write(2); }, [this] { write(3); }};
  ReadingTask task{words(), script};
  EXPECT_EQ(run(task), step::done);
  EXPECT_EQ(script.inspects, 4U);
  EXPECT_EQ(script.resumes, 1);
  EXPECT_EQ(script.conflicts, 0);
  EXPECT_EQ(script.value, 3U);
}

TEST_F(GuardedRead, RetriesLaterWithoutInspectingWhileAWriterHoldsTheObject) {
  use(primitive::optimistic_latch);
  const WriteLatch latch = WriteLatch::acquire(words(), 1);
  ReadingTask task{words(), script};
  EXPECT_EQ(run(task), step::retry);
  EXPECT_EQ(script.inspects, 0U);
  EXPECT_EQ(script.resumes, 0);
}

TEST_F(GuardedRead, RetriesLaterAfterABoundedNumberOfConflicts) {
  use(primitive::optimistic_latch);
  script.during_inspect.assign(1000, [this] { write(5); });
  ReadingTask task{words(), script};
  EXPECT_EQ(run(task), step::retry);
  EXPECT_EQ(script.inspects, kOptimisticTries);
  EXPECT_EQ(script.resumes, 0);
}

TEST_F(GuardedRead, AStagedReadGoesOnFromTheVersionItSaw) {
  use(primitive::optimistic_latch);
  write(4);
  script.staged = true;
  ReadingTask task{words(), script};
  task.see_version(OptimisticRead{words()}.version());
  EXPECT_EQ(run(task), step::done);
  EXPECT_EQ(script.value, 4U);
}

TEST_F(GuardedRead, AStagedReadStartsOverWhenItsVersionIsGone) {
  use(primitive::optimistic_latch);
  script.staged = true;
  ReadingTask task{words(), script};
  task.see_version(OptimisticRead{words()}.version());
  write(1);
  EXPECT_EQ(run(task), step::again);
  EXPECT_EQ(script.conflicts, 1);
  EXPECT_EQ(script.resumes, 0) << "what it saw earlier no longer counts";
}

TEST_F(GuardedRead, AStagedReadValidatesEvenUnderTheLease) {
  use(primitive::optimistic_scheduling);
  leased = true;
  script.staged = true;
  ReadingTask task{words(), script};
  task.see_version(OptimisticRead{words()}.version());
  write(1);
  EXPECT_EQ(run(task), step::again) << "a writer may have run between the stages";
  EXPECT_EQ(script.resumes, 0);
}

TEST_F(GuardedRead, SkipsValidationOnlyUnderTheLeaseOfAScheduledObject) {
  use(primitive::optimistic_scheduling);
  leased = true;
  script.during_inspect = {[this] { write(9); }};  // no such writer exists: this shows that no read validates
  ReadingTask task{words(), script};
  EXPECT_EQ(run(task), step::done);
  EXPECT_EQ(script.inspects, 1U);

  leased = false;
  script = {};
  script.during_inspect = {[this] { write(10); }};
  EXPECT_EQ(run(task), step::done);
  EXPECT_EQ(script.inspects, 2U);

  use(primitive::optimistic_latch);
  leased = true;
  script = {};
  script.during_inspect = {[this] { write(11); }};
  ReadingTask latched{words(), script};
  EXPECT_EQ(run(latched), step::done);
  EXPECT_EQ(script.inspects, 2U) << "writers of a latched object run anywhere";
}

TEST_F(GuardedRead, ValidatesWhenTheObjectLeftThePoolThatIsLeased) {
  use(primitive::optimistic_scheduling);
  leased = true;
  ReadingTask task{words(), script};
  words().meta().store((words().meta().load() & ~std::uint64_t{0xFFFF}) | 2U);
  script.during_inspect = {[this] { write(9); }};
  EXPECT_EQ(run(task), step::done);
  EXPECT_EQ(script.inspects, 2U);
}

TEST_F(GuardedRead, ALatchedObjectIsNotReadEvenUnderTheLease) {
  use(primitive::optimistic_scheduling);
  leased = true;
  const WriteLatch latch = WriteLatch::acquire(words(), 1);
  ReadingTask task{words(), script};
  EXPECT_EQ(run(task), step::retry);
  EXPECT_EQ(script.inspects, 0U);
}

TEST_F(GuardedRead, ASerializedObjectIsInspectedAndResumedWithoutAVersion) {
  use(primitive::serialized_by_scheduling);
  words().words[0].store(6);
  script.during_inspect = {[this] { words().version().store(8); }};
  ReadingTask task{words(), script};
  EXPECT_EQ(run(task), step::done);
  EXPECT_EQ(script.inspects, 1U);
  EXPECT_EQ(script.value, 6U);
  EXPECT_EQ(lease_questions, 0) << "asked only where the answer matters";
}

TEST_F(GuardedRead, WithoutAPrimitiveThereIsNothingToInspect) {
  use(primitive::none);
  ReadingTask task{words(), script};
  EXPECT_EQ(run(task), step::done);
  EXPECT_EQ(script.inspects, 0U);
  EXPECT_EQ(script.resumes, 1);
}

TEST_F(GuardedExecute, ATaskThatRunsAloneTakesTheLatchOfAnOptimisticObject) {
  for (const primitive how : {primitive::optimistic_latch, primitive::optimistic_scheduling}) {
    use(how);
    LonelyTask task{words()};
    task.annotate(access::write);
    EXPECT_EQ(run(task), step::done);
    EXPECT_TRUE(task.latched);
    EXPECT_EQ(OptimisticRead{words()}.version(), 2U) << "released, and one version on";
  }
}

TEST_F(GuardedExecute, ATaskThatRunsAloneNeedsNoLatchInItsPool) {
  for (const primitive how : {primitive::serialized_by_scheduling, primitive::none}) {
    use(how);
    LonelyTask task{words()};
    EXPECT_EQ(run(task), step::done);
    EXPECT_FALSE(task.latched);
    EXPECT_EQ(OptimisticRead{words()}.version(), 0U);
  }
}

TEST_F(GuardedExecute, ATaskThatRunsAloneRetriesLaterWhenTheLatchIsHeld) {
  use(primitive::optimistic_latch);
  LonelyTask task{words()};
  {
    const WriteLatch latch = WriteLatch::acquire(words(), 1);
    EXPECT_EQ(run(task), step::retry);
    EXPECT_EQ(task.executed, 0);
  }
  EXPECT_EQ(run(task), step::done);
  EXPECT_EQ(task.executed, 1);
}

}  // namespace
}  // namespace mxkv::runtime
