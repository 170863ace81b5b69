// Guarded execution of objects whose readers take a latch: which functions run under it, and the effect of a
// held latch.
#include "runtime/synchronization/latched/latched_execute.hpp"

#include <gtest/gtest.h>

#include "runtime/synchronization/latched/shared_latch.hpp"
#include "tests/unit/task/guarded_tasks.hpp"

namespace mxkv::runtime {
namespace {

using LatchedExecution = testing::GuardedExecution;
constexpr primitive kLatches[] = {primitive::spin_latch, primitive::reader_writer_latch};

/// Notes by which latches its object can be taken while it runs.
class LookingTask final : public MxTask {
 public:
  explicit LookingTask(testing::Words<>& words) : MxTask(nullptr), words_(&words) {
    annotate(words.tagged(), 64);
  }
  step execute(Worker& /*worker*/) {
    ++executed;
    shareable = static_cast<bool>(SharedLatch::acquire(*words_, 1));
    writable = static_cast<bool>(WriteLatch::acquire(*words_, 1));
    return step::done;
  }
  int executed = 0;
  bool shareable = false;
  bool writable = false;

 private:
  testing::Words<>* words_;
};

TEST_F(LatchedExecution, AReadInspectsOnceUnderTheLatchAndLeavesTheVersion) {
  for (const primitive how : kLatches) {
    use(how);
    script = {};
    write(7);
    bool writable = true;
    bool shareable = false;
    script.during_inspect = {[&] {
      writable = static_cast<bool>(WriteLatch::acquire(words(), 1));
      shareable = static_cast<bool>(SharedLatch::acquire(words(), 1));
    }};
    testing::ReadingTask task{words(), script};
    EXPECT_EQ(run(task), step::done);
    EXPECT_EQ(script.inspects, 1U);
    EXPECT_EQ(script.value, 7U);
    EXPECT_FALSE(writable);
    EXPECT_EQ(shareable, how == primitive::reader_writer_latch) << "spin latches admit one reader";
    EXPECT_FALSE(script.latched_in_resume) << "it goes by what was read";
    EXPECT_EQ(task.seen_version(), 2U);
    EXPECT_EQ(words().version().load(), 2U);
  }
}

TEST_F(LatchedExecution, AReadRetriesLaterWhileAWriterHoldsTheObject) {
  for (const primitive how : kLatches) {
    use(how);
    script = {};
    const WriteLatch latch = WriteLatch::acquire(words(), 1);
    testing::ReadingTask task{words(), script};
    EXPECT_EQ(run(task), step::retry);
    EXPECT_EQ(script.inspects, 0U);
  }
}

TEST_F(LatchedExecution, AReaderIsAdmittedBesideAnotherByAReaderWriterLatchOnly) {
  for (const primitive how : kLatches) {
    use(how);
    script = {};
    const SharedLatch other = SharedLatch::acquire(words(), 1);
    testing::ReadingTask task{words(), script};
    EXPECT_EQ(run(task), how == primitive::reader_writer_latch ? step::done : step::retry);
  }
}

TEST_F(LatchedExecution, AStagedReadGoesOnAfterReadersAndStartsOverAfterAWriter) {
  for (const primitive how : kLatches) {
    use(how);
    script = {};
    script.staged = true;
    testing::ReadingTask task{words(), script};
    task.see_version(words().version().load());
    testing::Script others;
    testing::ReadingTask other{words(), others};
    EXPECT_EQ(run(other), step::done);
    EXPECT_EQ(run(task), step::done) << "a reader has come and gone";
    write(1);
    EXPECT_EQ(run(task), step::again);
    EXPECT_EQ(script.conflicts, 1);
    EXPECT_EQ(script.resumes, 1);
    EXPECT_EQ(words().version().load(), 2U) << "let go, without a version of its own";
  }
}

TEST_F(LatchedExecution, AWriteHoldsTheLatchFromItsReadToItsEnd) {
  for (const primitive how : kLatches) {
    use(how);
    script = {};
    bool held = false;
    bool valid = false;
    testing::WritingTask task{words(), script};
    script.during_prepare = [&] {
      held = !SharedLatch::acquire(words(), 1);
      valid = OptimisticRead{words(), task.seen_version()}.valid();
    };
    EXPECT_EQ(run(task), step::done);
    EXPECT_TRUE(held);
    EXPECT_TRUE(valid) << "prepare() may validate what it reads";
    EXPECT_TRUE(script.latched_in_resume) << "apply() too";
    EXPECT_EQ(script.abandons, 0);
    EXPECT_EQ(script.finishes, 1);
    EXPECT_EQ(words().words[0].load(), 1U);
    EXPECT_EQ(words().version().load(), 2U);
  }
}

TEST_F(LatchedExecution, AWriteThatDoesNotWantToLeavesTheVersion) {
  for (const primitive how : kLatches) {
    for (const step otherwise : {step::again, step::parked}) {
      use(how);
      script = {};
      script.prepared = false;
      script.otherwise = otherwise;
      testing::WritingTask task{words(), script};
      EXPECT_EQ(run(task), otherwise);
      EXPECT_EQ(script.applies, 0);
      EXPECT_EQ(words().version().load(), 0U);
      if (otherwise == step::again) {
        EXPECT_EQ(task.seen_version(), 0U) << "a later stage goes on from it";
      }
    }
  }
}

TEST_F(LatchedExecution, AWriteRetriesLaterWhileTheObjectIsHeldOrShared) {
  for (const primitive how : kLatches) {
    use(how);
    script = {};
    testing::WritingTask task{words(), script};
    {
      const WriteLatch writer = WriteLatch::acquire(words(), 1);
      EXPECT_EQ(run(task), step::retry);
    }
    const SharedLatch reader = SharedLatch::acquire(words(), 1);
    EXPECT_EQ(run(task), step::retry);
    EXPECT_EQ(script.inspects, 0U);
  }
}

TEST_F(LatchedExecution, AStagedWriteStartsOverAfterAWriter) {
  for (const primitive how : kLatches) {
    use(how);
    script = {};
    script.staged = true;
    testing::WritingTask task{words(), script};
    task.see_version(words().version().load());
    write(1);
    EXPECT_EQ(run(task), step::again);
    EXPECT_EQ(script.conflicts, 1);
    EXPECT_EQ(script.prepares, 0);
    EXPECT_EQ(words().version().load(), 2U);
  }
}

TEST_F(LatchedExecution, ATaskThatRunsAloneSharesTheObjectOnlyAsAReaderOfAReaderWriterLatch) {
  for (const primitive how : kLatches) {
    for (const access wanted : {access::readonly, access::write}) {
      use(how);
      LookingTask task{words()};
      task.annotate(wanted);
      EXPECT_EQ(run(task), step::done);
      EXPECT_EQ(task.shareable, how == primitive::reader_writer_latch && wanted == access::readonly);
      EXPECT_FALSE(task.writable);
      EXPECT_TRUE(WriteLatch::acquire(words(), 1)) << "released";
    }
  }
}

TEST_F(LatchedExecution, ATaskThatRunsAloneRetriesLaterWhenTheLatchIsHeld) {
  for (const primitive how : kLatches) {
    use(how);
    const WriteLatch latch = WriteLatch::acquire(words(), 1);
    LookingTask task{words()};
    EXPECT_EQ(run(task), step::retry);
    EXPECT_EQ(task.executed, 0);
  }
}

}  // namespace
}  // namespace mxkv::runtime
