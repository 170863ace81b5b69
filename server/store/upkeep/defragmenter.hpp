// Defragmenter: items are moved out of spans that few of them are left in, so that the spans can go back
// [LAS 5]. Without it a span that one item keeps is lost to all other sizes.
//
// Now and then a worker looks at its own heap. If too much of it is spare it walks the leaves once, and for
// each item in a sparse span of its own starts a task that builds a copy, swaps the leaf's pointer under the
// latch and retires the old one: a write that changes nothing. The heap fills fuller spans first, so copies
// do not make new sparse spans. A walk is followed by a pause of ten times its length at least, and by a
// longer one each time that it did not help.
#pragma once

#include <cstdint>

namespace mxkv::runtime {
class Worker;
}

namespace mxkv::server {

class StoreState;

/// One a worker. Thread-safety: owner worker only.
class Defragmenter {
 public:
  /// To be called often; looks at the heap every tenth of a second.
  void tick(StoreState& store, runtime::Worker& worker) {
    if (now_ns(worker) >= next_look_ns_) [[unlikely]] {
      begin(store, worker);
    }
  }

  /// A walk has come to its end.
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
