// Several pages of a dump at once. The next leaves of the tree are divided into parts (range_parts.hpp), each
// of which fills its own page. Each part tells home when its page has ended. Home appends the pages to the
// reply in order, each as soon as all pages before it have come: so home sends while other workers make the
// next pages.
//
// Pages have a fixed size. If a part does not fit its page, the reply ends with that page. The next pages of
// the dump begin behind its last line, and have fewer leaves.
#pragma once

#include <vector>

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
  SeenOrder seen;
  HeldKey last;  ///< the key of the last line; empty: there is no line
};

/// Makes one page, on the worker that took its part.
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

class DumpPagesTask final : public runtime::MxTask, public RangeWalk {
 public:
  static constexpr const char* kName = "dump pages";

  DumpPagesTask(const runtime::TaskClass* task_class, ItemTree& tree, DumpProgress& progress,
                const ReplyAddress& address, const RangeSplitting& how, std::size_t pages,
                runtime::Worker& worker);

  static void begin(ItemTree& tree, DumpProgress& progress, const ReplyAddress& address,
                    const RangeSplitting& how, runtime::Worker& worker);
  /// At home: all parts have ended, or the range was not divided.
  runtime::step execute(runtime::Worker& worker);
  void discard(runtime::Worker& worker);

  /// A part has filled its page. Called on the part's worker, before the part ends.
  void page_ended(DumpPage& page, runtime::Worker& worker);

  // --- For RangeParts ---
  void start_part(RangePartTask& part, runtime::Worker& worker);
  void parts_ended(runtime::Worker& worker) { worker.spawn(this); }
  void undivided(runtime::Worker& worker);

 private:
  friend class DumpPageTask;

  void send(DumpPage& page, runtime::Worker& worker);
  void answer(runtime::Worker& worker);
  void give_back(runtime::Worker& worker);

  ItemTree* tree_;
  DumpProgress* progress_;
  RangeSplitting how_;
  RangeParts* parts_ = nullptr;   ///< null: the range was not divided
  std::size_t charged_;           ///< bytes, for the texts of the pages
  std::vector<DumpPage>* pages_;  ///< owned
  SeenOrder seen_;                ///< by the pages that have ended
  std::size_t sent_ = 0;          ///< pages that were sent and were not full
  bool stopped_ = false;          ///< a full page was sent: no page behind it is
};

static_assert(sizeof(DumpPagesTask) <= runtime::kLargestTaskBytes);

}  // namespace mxkv::server
