// Several pages of a dump at once: the next leaves of the tree are divided into parts (range_parts.hpp), each of
// which fills a page of its own. Home is told of each page, and has them follow each other into the reply as soon as
// all before have come: so it sends while others make the next ones.
//
// Pages have a fixed size. A part that does not fit its page ends there what is sent: the pages behind it are made
// anew, and have fewer leaves.
#pragma once

#include <vector>

#include "server/store/range/dump_part_task.hpp"

namespace mxkv::server {

class DumpPagesTask final : public runtime::MxTask, public RangeWalk {
 public:
  static constexpr const char* kName = "dump pages";

  DumpPagesTask(const runtime::TaskClass* task_class, ItemTree& tree, DumpProgress& progress,
                const ReplyAddress& address, const RangeSplitting& how, std::size_t pages,
                runtime::Worker& worker);

  static void begin(ItemTree& tree, DumpProgress& progress, const ReplyAddress& address,
                    const RangeSplitting& how, runtime::Worker& worker);
  /// At home: all have ended, or there are none.
  runtime::step execute(runtime::Worker& worker);
  void discard(runtime::Worker& worker);

  /// A part has filled its page. On the worker of the part, before the part ends.
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
  RangeParts* parts_ = nullptr;   ///< null: it was not divided
  std::size_t charged_;           ///< bytes, for their texts
  std::vector<DumpPage>* pages_;  ///< its own
  std::size_t sent_ = 0;          ///< whole pages
  bool stopped_ = false;          ///< the page behind them was full, and sent; no other is
};

static_assert(sizeof(DumpPagesTask) <= runtime::kLargestTaskBytes);

}  // namespace mxkv::server
