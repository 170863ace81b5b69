// A scan that stands still after each leaf, so that a test can change the tree around it.
#pragma once

#include <utility>

#include "tests/unit/index/tree_fixture.hpp"

namespace mxkv::index::testing {

/// Runs the scan that `range` describes, and calls `between` each time it stands still.
template <class Env, class Between>
void scan_with_halts(TreeUnderTest<Env>& tree, Range<Env>& range, const Between& between) {
  range.limit = 100'000;
  range.halts = true;
  tree.driver().on_worker(0, [&](runtime::Worker& worker) {
    worker.create<RangeTask<Env>>(tree.tree(), range, nullptr, nullptr, nullptr)->start(worker);
  });
  for (bool more = true; more;) {
    tree.driver().run_until([&] { return range.done || range.halted != nullptr; });
    ASSERT_TRUE(range.done || range.halted != nullptr);
    more = !range.done;
    if (more) {
      between();
    }
    if (runtime::MxTask* task = std::exchange(range.halted, nullptr)) {
      tree.driver().on_worker(0, [task](runtime::Worker& worker) { worker.spawn(task); });
    }
  }
}

/// The entries that a scan saw, each once and in order. All of them are keys of `ever`.
template <class Env, class Model>
Model seen_in_order(const Range<Env>& range, const Model& ever) {
  Model seen;
  const typename Env::OwnedKey* last = nullptr;
  for (const auto& [key, number] : range.entries) {
    EXPECT_TRUE(last == nullptr || (range.backward ? key < *last : *last < key)) << "out of order, or twice";
    last = &key;
    seen[key] = number;
    EXPECT_TRUE(ever.contains(key));
  }
  return seen;
}

}  // namespace mxkv::index::testing
