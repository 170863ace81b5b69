// One page of a dump, made beside others on the worker that took its part. Home sends it after those before
// it.
#pragma once

#include "server/store/range/dump_progress.hpp"
#include "server/store/range/range_parts.hpp"

namespace mxkv::server {

class DumpPagesTask;

/// The lines of one page, in order. Thread-safety: the part's worker; the operation, at home, once the page
/// has ended.
struct alignas(runtime::kCacheLineBytes) DumpPage {
  char* text = nullptr;
  std::size_t room = 0;      ///< of the text
  std::size_t bytes = 0;     ///< written
  std::uint32_t leaves = 0;  ///< seen
  bool full = false;         ///< the part has more lines, behind `last`
  bool ended = false;        ///< home knows that the page has ended
  HeldKey last;              ///< the key of the last line; empty: there is no line
};

class DumpPartTask final : public index::ScanTask<DumpPartTask, ItemTraits>, public PartWalk {
  using Base = index::ScanTask<DumpPartTask, ItemTraits>;

 public:
  static constexpr const char* kName = "dump part";

  /// Makes the page of a part on this worker.
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
