// Tasks for the tests of guarded execution: they follow a script and count the calls.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <vector>

#include "runtime/synchronization/guarded_execute.hpp"
#include "tests/unit/scheduler/machine.hpp"

namespace mxkv::runtime::testing {

/// The events while a task runs, and how often each of its functions was called.
struct Script {
  std::vector<std::function<void()>> during_inspect;  ///< the i-th call of inspect runs the i-th
  std::function<void()> during_prepare;
  bool staged = false;
  bool prepared = true;            ///< what prepare() returns
  step otherwise = step::parked;   ///< what it wants if it returns false
  bool latched_in_resume = false;  ///< seen: the object's latch was held

  std::size_t inspects = 0;
  int resumes = 0;
  int conflicts = 0;
  int prepares = 0;
  int applies = 0;
  int abandons = 0;
  int finishes = 0;
  std::uint64_t value = 0;  ///< what resume() or apply() got
};

/// Reads the first word of its object in two halves.
class ReadingTask : public MxTask {
 public:
  struct Scratch {
    std::uint64_t value = 0;
  };
  ReadingTask(Words<>& words, Script& script) : MxTask(nullptr), words_(&words), script_(&script) {
    annotate(words.tagged(), sizeof words);
  }

  [[nodiscard]] bool staged() const { return script_->staged; }
  void inspect(const OptimisticRead& /*read*/, Scratch& scratch) const {
    scratch.value = words_->words[0].load();
    const std::size_t call = script_->inspects++;
    if (call < script_->during_inspect.size()) {
      script_->during_inspect[call]();
    }
  }
  step resume(Scratch& scratch, Worker& /*worker*/) {
    ++script_->resumes;
    script_->value = scratch.value;
    script_->latched_in_resume = OptimisticRead{*words_}.locked();
    return step::done;
  }
  step conflict(Worker& /*worker*/) {
    ++script_->conflicts;
    return step::again;
  }

 protected:
  Words<>* words_;  // NOLINT(misc-non-private-member-variables-in-classes): the writing task's too
  Script* script_;  // NOLINT(misc-non-private-member-variables-in-classes)
};

/// Adds one to the first word of its object.
class WritingTask final : public ReadingTask {
 public:
  WritingTask(Words<>& words, Script& script) : ReadingTask(words, script) { annotate(access::write); }

  bool prepare(Scratch& /*scratch*/, Worker& /*worker*/, step& otherwise) {
    ++script_->prepares;
    if (script_->during_prepare) {
      script_->during_prepare();
    }
    otherwise = script_->otherwise;
    return script_->prepared;
  }
  void apply(Scratch& scratch, Worker& /*worker*/) {
    ++script_->applies;
    script_->latched_in_resume = OptimisticRead{*words_}.locked();
    words_->words[0].store(scratch.value + 1);
    script_->value = scratch.value + 1;
  }
  void abandon(Scratch& /*scratch*/, Worker& /*worker*/) { ++script_->abandons; }
  step finish(Scratch& /*scratch*/, Worker& /*worker*/) {
    ++script_->finishes;
    return step::done;
  }
};

/// One object, one worker to pass along, and a lease that the test decides over.
struct GuardedExecution : ::testing::Test {
  void use(primitive how) { words_.emplace(PoolId{1}, how); }
  [[nodiscard]] Words<>& words() { return *words_; }
  /// Another writer comes and goes.
  void write(std::uint64_t value) {
    const WriteLatch latch = WriteLatch::acquire(words(), 1);
    ASSERT_TRUE(latch);
    words().words[0].store(value);
  }
  template <class Task>
  step run(Task& task) {
    return guarded_execute(task, machine_[0], [this](PoolId pool) {
      ++lease_questions;
      return leased && pool == PoolId{1};
    });
  }

  bool leased = false;
  int lease_questions = 0;
  Script script;

 private:
  Machine machine_{1};
  std::optional<Words<>> words_;
};

}  // namespace mxkv::runtime::testing
