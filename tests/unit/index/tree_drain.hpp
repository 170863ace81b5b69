// Takes a tree apart as the product does. Blocks that the heaps still count as live afterwards have leaked.
#pragma once

#include "index/tree.hpp"
#include "runtime/scheduler/runtime.hpp"

namespace mxkv::index::testing {

/// Bytes of live blocks in all heaps of a stopped runtime.
struct LiveBytes {
  std::size_t nodes = 0;
  std::size_t items = 0;
};

inline LiveBytes live_bytes(runtime::Runtime& runtime) {
  const auto each = [&runtime](const auto& what) {
    for (std::size_t i = 0; i < runtime.worker_count(); ++i) {
      what(runtime.worker(runtime::WorkerId{static_cast<std::uint16_t>(i)}));
    }
  };
  each([](runtime::Worker& worker) {
    worker.nodes().flush_foreign();
    worker.items().flush_foreign();
  });
  LiveBytes sum;
  each([&sum](runtime::Worker& worker) {
    worker.nodes().collect();
    worker.items().collect();
    sum.nodes += worker.nodes().stats().live_bytes;
    sum.items += worker.items().stats().live_bytes;
  });
  return sum;
}

/// Drops the waiting tasks of a stopped runtime and takes the tree apart. After that no block may be live.
template <class Traits>
void drain(Tree<Traits>& tree, runtime::Runtime& runtime) {
  runtime::Worker& worker = runtime.worker(runtime::WorkerId{0});
  runtime.drain_stopped();
  tree.release_spare(worker);
  Traits::teardown_begins(worker);
  auto* teardown =
      worker.create<TeardownTask<Traits>>(static_cast<Node<typename Traits::Shape>*>(tree.root().object()));
  teardown->task_class().discard(*teardown, worker);
}

}  // namespace mxkv::index::testing
