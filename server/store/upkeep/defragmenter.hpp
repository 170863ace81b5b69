// Defragmenter: moves items out of spans with few items left, so that those spans can be given back [LAS 5].
// Without it, a span with a single item is lost to all other sizes.
//
// Ten times a second a worker looks at its own heap. If too much of it is spare, the worker walks the leaves
// once. For each item in a sparse span of its own it starts a task that builds a copy, swaps the leaf's
// pointer under the latch and retires the old item: a write that changes no data. The heap fills the fullest
// spans first, so copies do not make new sparse spans. After a walk the worker pauses for at least ten times
// the walk's duration, and for longer after each walk that did not help.
#pragma once

#include <cstdint>

namespace mxkv::runtime {
class Worker;
}

namespace mxkv::server {

class StoreState;

/// One per worker. Thread-safety: owner worker only.
class Defragmenter {
 public:
  /// Call it often; it looks at the heap every 100 ms.
  void tick(StoreState& store, runtime::Worker& worker) {
    if (now_ns(worker) >= next_look_ns_) [[unlikely]] {
      begin(store, worker);
    }
  }

  /// The walk has ended.
  void ended(runtime::Worker& worker);

 private:
  static std::uint64_t now_ns(const runtime::Worker& worker) noexcept;
  void begin(StoreState& store, runtime::Worker& worker);

  std::uint64_t next_look_ns_ = 0;
  std::uint64_t begun_ns_ = 0;
  std::uint64_t pause_ns_ = 0;
  std::uint64_t spare_before_ = 0;
};

}  // namespace mxkv::server
