// Tree operations with results that a test can read, for any test environment.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <utility>
#include <vector>

#include "index/clear_task.hpp"
#include "index/scan_task.hpp"
#include "runtime/base/random.hpp"
#include "tests/unit/index/tree_env.hpp"

namespace mxkv::index::testing {

/// The effect of an operation. `find` and `touch` leave the number alone; the others return the one before.
/// `clear` empties the whole tree and reports nothing.
enum class verb : std::uint8_t { find, upsert, remove, compare_swap, add, touch, clear };

/// One operation on one key, and its result.
template <class Env>
struct Operation {
  typename Env::OwnedKey key{};
  verb how = verb::find;
  std::uint64_t operand = 0;
  std::uint64_t expected = 0;  ///< compare_swap
  std::uint64_t number = 0;    ///< found: the number before
  std::uint64_t invoked = 0;
  std::uint64_t responded = 0;
  bool found = false;
  bool failed = false;  ///< out of memory: had no effect
  bool done = false;
  Change change{};               ///< its description at the commit point
  std::uint64_t floor_then = 0;  ///< of the leaf, when a record changed in place
};

/// Where operations run, and the receiver of their ends.
template <class Env>
struct TreeContext {
  using OperationT = Operation<Env>;
  Tree<typename Env::Traits>& tree;
  const Env& env;
  void (*ended)(void* listener, OperationT& operation) = nullptr;
  void* listener = nullptr;
  runtime::Random* disturb = nullptr;  ///< bumps versions between a writer's read and its latch
  /// Empty, or an interruption: called inside reads, between read and latch, and under latches.
  std::function<void()> meanwhile = {};

  void end(OperationT& operation) {
    EXPECT_FALSE(operation.done) << "an operation ended twice";
    operation.done = true;
    if (ended != nullptr) {
      ended(listener, operation);
    }
  }
  void point() const {
    if (meanwhile) {
      meanwhile();
    }
  }
};

template <class Env>
class FindTask final : public LookupTask<FindTask<Env>, typename Env::Traits> {
  using Base = LookupTask<FindTask<Env>, typename Env::Traits>;

 public:
  FindTask(const runtime::TaskClass* task_class, TreeContext<Env>& context,
           Operation<Env>& operation) noexcept
      : Base(task_class, context.tree), context_(&context), operation_(&operation) {}
  [[nodiscard]] typename Env::Traits::Key key() const noexcept {
    context_->point();
    return Env::view(operation_->key);
  }
  runtime::step on_found(std::uint64_t word, runtime::Worker& /*worker*/) {
    context_->point();
    operation_->found = true;
    operation_->number = Env::number(word);
    context_->end(*operation_);
    return runtime::step::done;
  }
  runtime::step on_missing(runtime::Worker& /*worker*/) {
    context_->end(*operation_);
    return runtime::step::done;
  }

 private:
  TreeContext<Env>* context_;
  Operation<Env>* operation_;
};

template <class Env>
class ChangeTask final : public UpdateTask<ChangeTask<Env>, typename Env::Traits> {
  using Base = UpdateTask<ChangeTask<Env>, typename Env::Traits>;

 public:
  using typename Base::NodeT;
  ChangeTask(const runtime::TaskClass* task_class, TreeContext<Env>& context,
             Operation<Env>& operation) noexcept
      : Base(task_class, context.tree), context_(&context), operation_(&operation) {}
  [[nodiscard]] typename Env::Traits::Key key() const noexcept {
    context_->point();
    return Env::view(operation_->key);
  }

  Decision decide(bool found, std::uint64_t old, runtime::Worker& worker) {
    context_->point();
    if (context_->disturb != nullptr && context_->disturb->below(8) == 0) {
      const auto held = runtime::WriteLatch::acquire(this->here(), 1);  // another writer was faster
    }
    const std::uint64_t operand = operation_->operand;
    switch (operation_->how) {
      case verb::upsert:
        return put(operand, worker);
      case verb::add:
        return put((found ? Env::number(old) : 0) + operand, worker);
      case verb::compare_swap:
        return found && Env::number(old) == operation_->expected ? put(operand, worker) : Decision{};
      case verb::remove:
        return found ? Decision{Decision::what::remove, 0} : Decision{};
      case verb::touch:
        return found ? Decision{Decision::what::in_place, 0} : Decision{};
      case verb::find:
      case verb::clear:
        break;
    }
    return {};
  }
  Change commit(NodeT& /*leaf*/, bool /*found*/, std::uint64_t /*old*/, std::uint64_t /*value*/,
                runtime::Worker& /*worker*/) noexcept {
    context_->point();
    return operation_->change;
  }
  void change_record(std::uint64_t old, runtime::Worker& /*worker*/) noexcept {
    operation_->floor_then = this->here().order_floor();
    Env::touch(old);
  }
  runtime::step committed(bool found, std::uint64_t old, runtime::Worker& worker) {
    if (operation_->how != verb::remove && operation_->how != verb::touch) {
      has_word_ = false;  // it is the tree's now
    }
    const auto step = end(found, old, worker);
    if (found && operation_->how != verb::touch) {
      context_->env.retire(worker, old);
    }
    return step;
  }
  runtime::step left(bool found, std::uint64_t old, runtime::Worker& worker) {
    return end(found, old, worker);
  }
  runtime::step out_of_memory(runtime::Worker& worker) {
    operation_->failed = true;
    return end(false, 0, worker);
  }
  void discard(runtime::Worker& worker) { drop_word(worker); }

 private:
  Decision put(std::uint64_t number, runtime::Worker& worker) {
    if (has_word_) {
      Env::renumber(word_, number);
    } else if (const auto made = context_->env.make(worker, key(), number)) {
      word_ = *made;
      has_word_ = true;
    } else {
      operation_->failed = true;
      return {};
    }
    return {Decision::what::put, word_};
  }
  runtime::step end(bool found, std::uint64_t old, runtime::Worker& worker) {
    drop_word(worker);
    operation_->found = found;
    operation_->number = found ? Env::number(old) : 0;
    context_->end(*operation_);
    return runtime::step::done;
  }
  void drop_word(runtime::Worker& worker) {
    if (std::exchange(has_word_, false)) {
      context_->env.dispose(worker, word_);
    }
  }

  TreeContext<Env>* context_;
  Operation<Env>* operation_;
  std::uint64_t word_ = 0;
  bool has_word_ = false;
};

template <class Env>
class EmptyTask final : public ClearTask<EmptyTask<Env>, typename Env::Traits> {
  using Base = ClearTask<EmptyTask<Env>, typename Env::Traits>;

 public:
  EmptyTask(const runtime::TaskClass* task_class, TreeContext<Env>& context,
            Operation<Env>& operation) noexcept
      : Base(task_class, context.tree), context_(&context), operation_(&operation) {}
  std::uint64_t mint_order(runtime::Worker& /*worker*/) noexcept {
    const auto& root = *this->tree().root().object();
    EXPECT_TRUE(runtime::OptimisticRead{root}.locked())
        << "an empty tree can be read before its clear has passed";
    return operation_->change.order;
  }
  runtime::step cleared(bool done, runtime::Worker& /*worker*/) {
    operation_->failed = !done;
    context_->end(*operation_);
    return runtime::step::done;
  }

 private:
  TreeContext<Env>* context_;
  Operation<Env>* operation_;
};

/// A scan: up to `limit` entries from `key` on, or below it.
template <class Env>
struct Range {
  using OwnedKey = typename Env::OwnedKey;
  OwnedKey key{};
  bool backward = false;
  std::size_t limit = 0;
  std::uint64_t wanted = ~std::uint64_t{0} / 4;  ///< as the scan says
  std::uint64_t invoked = 0;
  std::uint64_t responded = 0;
  OwnedKey at{};  ///< where the scan goes on
  std::vector<std::pair<OwnedKey, std::uint64_t>> entries;
  bool exhausted = false;
  bool done = false;
  bool halts = false;                    ///< parks between two leaves; the test spawns it again
  runtime::MxTask* halted = nullptr;     ///< parked now
  runtime::Worker* halted_on = nullptr;  ///< where it has to be spawned
};

template <class Env>
class RangeTask final : public ScanTask<RangeTask<Env>, typename Env::Traits> {
  using Base = ScanTask<RangeTask<Env>, typename Env::Traits>;
  using Key = typename Env::Traits::Key;

 public:
  using Ended = void (*)(void* listener, Range<Env>& range);
  RangeTask(const runtime::TaskClass* task_class, Tree<typename Env::Traits>& tree, Range<Env>& range,
            Ended ended = nullptr, void* listener = nullptr, const std::function<void()>* meanwhile = nullptr)
      : Base(task_class, tree), range_(&range), ended_(ended), listener_(listener), meanwhile_(meanwhile) {
    range.at = range.key;
  }
  runtime::step resume_target(typename Base::Scratch& scratch, runtime::Worker& worker) {
    const runtime::step next = Base::resume_target(scratch, worker);
    if (next != runtime::step::again || !range_->halts) {
      return next;
    }
    range_->halted_on = &worker;
    range_->halted = this;
    return runtime::step::parked;
  }
  [[nodiscard]] Key key() const noexcept { return Env::view(range_->at); }
  void set_key(Key key) { range_->at = typename Env::OwnedKey{key}; }
  [[nodiscard]] bool backward() const noexcept { return range_->backward; }
  [[nodiscard]] std::uint64_t wanted() const noexcept { return range_->wanted; }
  bool visit(std::uint64_t head, std::uint64_t word, runtime::Worker& /*worker*/) {
    if (meanwhile_ != nullptr && *meanwhile_) {
      (*meanwhile_)();
    }
    if (range_->entries.size() == range_->limit) {
      return false;
    }
    range_->entries.emplace_back(Env::key_of(head, word), Env::number(word));
    return true;
  }
  runtime::step finished(bool exhausted, runtime::Worker& /*worker*/) {
    range_->exhausted = exhausted;
    EXPECT_FALSE(range_->done) << "a scan ended twice";
    range_->done = true;
    if (ended_ != nullptr) {
      ended_(listener_, *range_);
    }
    return runtime::step::done;
  }

 private:
  Range<Env>* range_;
  Ended ended_;
  void* listener_;
  const std::function<void()>* meanwhile_;  ///< as TreeContext::meanwhile
};

/// Starts `operation` on `worker`, inside of its epoch.
template <class Env>
void start_operation(TreeContext<Env>& context, Operation<Env>& operation, runtime::Worker& worker) {
  if (operation.how == verb::find) {
    worker.create<FindTask<Env>>(context, operation)->start(worker);
  } else if (operation.how == verb::clear) {
    worker.create<EmptyTask<Env>>(context, operation)->start(worker);
  } else {
    worker.create<ChangeTask<Env>>(context, operation)->start(worker);
  }
}

}  // namespace mxkv::index::testing
