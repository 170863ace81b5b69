// Guarded execution of writes that inspect optimistically and then upgrade to the latch.
#include <gtest/gtest.h>

#include <optional>

#include "tests/unit/task/guarded_tasks.hpp"

namespace mxkv::runtime {
namespace {

using testing::ReadingTask;
using testing::WritingTask;
using GuardedWrite = testing::GuardedExecution;

TEST_F(GuardedWrite, InspectsPreparesAppliesUnderTheLatchAndFinishesWithoutIt) {
  use(primitive::optimistic_latch);
  write(10);
  script.during_prepare = [this] {
    EXPECT_FALSE(OptimisticRead{words()}.locked()) << "allocation is outside";
  };
  WritingTask task{words(), script};
  const std::uint64_t before = OptimisticRead{words()}.version();
  EXPECT_EQ(run(task), step::done);
  EXPECT_EQ(script.inspects, 1U);
  EXPECT_EQ(script.prepares, 1);
  EXPECT_EQ(script.applies, 1);
  EXPECT_EQ(script.finishes, 1);
  EXPECT_EQ(script.resumes, 0) << "that is for reads";
  EXPECT_TRUE(script.latched_in_resume);
  EXPECT_EQ(words().words[0].load(), 11U);
  EXPECT_EQ(OptimisticRead{words()}.version(), before + 2);
}

TEST_F(GuardedWrite, StartsOverWhenAnotherWriterCameDuringPrepare) {
  use(primitive::optimistic_latch);
  script.during_prepare = [this] { write(100); };
  WritingTask task{words(), script};
  EXPECT_EQ(run(task), step::again);
  EXPECT_EQ(script.applies, 0);
  EXPECT_EQ(script.finishes, 0);
  EXPECT_EQ(script.conflicts, 1);
  EXPECT_EQ(script.abandons, 1) << "what was prepared is given back";
  EXPECT_EQ(words().words[0].load(), 100U);
  script.during_prepare = nullptr;
  EXPECT_EQ(run(task), step::done);
  EXPECT_EQ(words().words[0].load(), 101U);
}

TEST_F(GuardedWrite, DoesAsItSaysWhenThereIsNothingToWrite) {
  use(primitive::optimistic_latch);
  for (const step otherwise : {step::done, step::again, step::parked}) {
    script = {};
    script.prepared = false;
    script.otherwise = otherwise;
    WritingTask task{words(), script};
    EXPECT_EQ(run(task), otherwise);
    EXPECT_EQ(script.applies + script.finishes + script.conflicts, 0);
    EXPECT_EQ(OptimisticRead{words()}.version(), 0U);
  }
}

TEST_F(GuardedWrite, RetriesLaterWhileAnotherWriterHoldsTheObject) {
  use(primitive::optimistic_latch);
  WritingTask task{words(), script};
  const WriteLatch latch = WriteLatch::acquire(words(), 1);
  EXPECT_EQ(run(task), step::retry);
  EXPECT_EQ(script.prepares, 0) << "nothing was allocated for nothing";
}

TEST_F(GuardedWrite, AStagedWriteTakesTheLatchFromTheVersionOfItsEarlierStage) {
  use(primitive::optimistic_scheduling);
  leased = true;
  script.staged = true;
  WritingTask task{words(), script};
  task.see_version(OptimisticRead{words()}.version());
  EXPECT_EQ(run(task), step::done);
  EXPECT_EQ(script.applies, 1);
  EXPECT_EQ(run(task), step::again) << "its own write made that version old";
  EXPECT_EQ(script.conflicts, 1);
  EXPECT_EQ(script.prepares, 1);
}

TEST_F(GuardedWrite, AWriterOfAScheduledObjectTakesItsLatchToo) {
  use(primitive::optimistic_scheduling);
  leased = true;
  WritingTask task{words(), script};
  EXPECT_EQ(run(task), step::done);
  EXPECT_TRUE(script.latched_in_resume) << "optimistic readers elsewhere must see that they were overtaken";
}

TEST_F(GuardedWrite, ASerializedObjectIsWrittenAsAnyOther) {
  use(primitive::serialized_by_scheduling);
  WritingTask task{words(), script};
  EXPECT_EQ(run(task), step::done);
  EXPECT_EQ(script.applies, 1);
  EXPECT_EQ(script.resumes, 0);
  script.staged = true;
  task.see_version(0);
  EXPECT_EQ(run(task), step::again) << "an earlier stage's view is from before that write";
}

TEST_F(GuardedWrite, AReadOnlyTaskOfAWritingClassOnlyReads) {
  use(primitive::optimistic_latch);
  WritingTask task{words(), script};
  task.annotate(access::readonly);
  EXPECT_EQ(run(task), step::done);
  EXPECT_EQ(script.resumes, 1);
  EXPECT_EQ(script.prepares, 0);
}

TEST_F(GuardedWrite, AWriteThatOnlyReadsIsAMistakeThatIsNamed) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  use(primitive::optimistic_latch);
  ReadingTask task{words(), script};
  task.annotate(access::write);
  EXPECT_DEATH(static_cast<void>(run(task)), "a task that writes must offer");
}

}  // namespace
}  // namespace mxkv::runtime
