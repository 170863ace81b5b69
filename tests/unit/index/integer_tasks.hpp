// Tree operations on 64-bit keys with results that a test can read.
#pragma once

#include <optional>
#include <vector>

#include "tests/unit/index/tree_driver.hpp"

namespace mxkv::index::testing {

/// What an operation came back with.
struct Outcome {
  bool done = false;
  bool found = false;
  std::uint64_t value = 0;
};

template <class Traits>
class FindTask final : public LookupTask<FindTask<Traits>, Traits> {
  using Base = LookupTask<FindTask<Traits>, Traits>;

 public:
  FindTask(const runtime::TaskClass* task_class, Tree<Traits>& tree, std::uint64_t key, Outcome& out) noexcept
      : Base(task_class, tree), key_(key), out_(&out) {}
  [[nodiscard]] std::uint64_t key() const noexcept { return key_; }
  runtime::step on_found(std::uint64_t value, runtime::Worker&) {
    *out_ = {true, true, value};
    return runtime::step::done;
  }
  runtime::step on_missing(runtime::Worker&) {
    *out_ = {true, false, 0};
    return runtime::step::done;
  }

 private:
  std::uint64_t key_;
  Outcome* out_;
};

/// Upsert, remove, compare-and-swap or add, by `how`.
enum class change : std::uint8_t { upsert, remove, compare_swap, add };

template <class Traits>
class ChangeTask final : public UpdateTask<ChangeTask<Traits>, Traits> {
  using Base = UpdateTask<ChangeTask<Traits>, Traits>;

 public:
  using typename Base::NodeT;
  ChangeTask(const runtime::TaskClass* task_class, Tree<Traits>& tree, std::uint64_t key, change how,
             std::uint64_t operand, std::uint64_t expected, Outcome& out) noexcept
      : Base(task_class, tree), key_(key), operand_(operand), expected_(expected), out_(&out), how_(how) {}
  [[nodiscard]] std::uint64_t key() const noexcept { return key_; }

  Decision decide(bool found, std::uint64_t old, runtime::Worker&) {
    switch (how_) {
      case change::upsert:
        return {Decision::what::put, operand_};
      case change::remove:
        return found ? Decision{Decision::what::remove, 0} : Decision{};
      case change::compare_swap:
        return found && old == expected_ ? Decision{Decision::what::put, operand_} : Decision{};
      case change::add:
        return {Decision::what::put, (found ? old : 0) + operand_};
    }
    return {};
  }
  void commit(NodeT&, bool, std::uint64_t, std::uint64_t, runtime::Worker&) noexcept {}
  runtime::step committed(bool found, std::uint64_t old, runtime::Worker&) {
    *out_ = {true, found, old};
    return runtime::step::done;
  }
  runtime::step left(bool found, std::uint64_t old, runtime::Worker&) {
    *out_ = {true, found, old};
    return runtime::step::done;
  }
  runtime::step out_of_memory(runtime::Worker&) {
    *out_ = {true, false, ~std::uint64_t{0}};
    return runtime::step::done;
  }

 private:
  std::uint64_t key_;
  std::uint64_t operand_;
  std::uint64_t expected_;
  Outcome* out_;
  change how_;
};

/// Collects up to `limit` entries from `key` on, or below it.
struct RangeOutcome {
  bool done = false;
  bool exhausted = false;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> entries;
};

template <class Traits>
class RangeTask final : public ScanTask<RangeTask<Traits>, Traits> {
  using Base = ScanTask<RangeTask<Traits>, Traits>;

 public:
  RangeTask(const runtime::TaskClass* task_class, Tree<Traits>& tree, std::uint64_t key, bool backward,
            std::size_t limit, RangeOutcome& out) noexcept
      : Base(task_class, tree), key_(key), limit_(limit), out_(&out), backward_(backward) {}
  [[nodiscard]] std::uint64_t key() const noexcept { return key_; }
  void set_key(std::uint64_t key) noexcept { key_ = key; }
  [[nodiscard]] bool backward() const noexcept { return backward_; }
  bool visit(std::uint64_t head, std::uint64_t value, runtime::Worker&) {
    if (out_->entries.size() == limit_) {
      return false;
    }
    out_->entries.emplace_back(head, value);
    return true;
  }
  runtime::step finished(bool exhausted, runtime::Worker&) {
    out_->exhausted = exhausted;
    out_->done = true;
    return runtime::step::done;
  }

 private:
  std::uint64_t key_;
  std::size_t limit_;
  RangeOutcome* out_;
  bool backward_;
};

}  // namespace mxkv::index::testing
