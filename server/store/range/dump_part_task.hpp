// A page of a dump that is made beside others, on whichever worker took it, and sent when those before it were.
#pragma once

#include "server/store/range/dump_progress.hpp"
#include "server/store/range/range_parts.hpp"

namespace mxkv::server {

class DumpPagesTask;

/// Lines of one page, in order. Thread-safety: whoever has the part; its operation, at home, when it has ended.
struct alignas(runtime::kCacheLineBytes) DumpPage {
  char* text = nullptr;
  std::size_t room = 0;      ///< of the text
  std::size_t bytes = 0;     ///< written
  std::uint32_t leaves = 0;  ///< seen
  bool full = false;         ///< there is more of the part, behind `last`
  bool ended = false;        ///< told to home
  HeldKey last;              ///< the last key that has a line; empty: none has
};

class DumpPartTask final : public index::ScanTask<DumpPartTask, ItemTraits>, public PartWalk {
  using Base = index::ScanTask<DumpPartTask, ItemTraits>;

 public:
  static constexpr const char* kName = "dump part";

  /// Makes a page of a part here.
  static void begin(ItemTree& tree, RangePartTask& part, dump_form form, DumpPage& page, DumpPagesTask& whole,
                    runtime::Worker& worker);

  // --- For ScanTask ---
  class Leaf;
  [[nodiscard]] Leaf leaf_visitor(runtime::Worker& worker);
  runtime::step finished(bool exhausted, runtime::Worker& worker);

 private:
  friend class runtime::Worker;  // makes it
  DumpPartTask(const runtime::TaskClass* task_class, ItemTree& tree, RangePartTask& part, dump_form form,
               DumpPage& page, DumpPagesTask& whole, runtime::Worker& worker);

  DumpPage* page_;
  DumpPagesTask* whole_;
  std::int64_t wall_ahead_s_;
  dump_form form_;
};

static_assert(sizeof(DumpPartTask) <= runtime::kLargestTaskBytes);

}  // namespace mxkv::server
