// mc: counts a range by reading the header of each item; with a delimiter, prefix by prefix. If the count
// need not be exact, an EstimateTask estimates the items behind the first leaves.
//
// With a delimiter and without e, a leaf whose keys all have one prefix is counted by its number of entries;
// only two of its items are read. If only names are wanted, the task jumps from prefix to prefix.
//
// A small range is one walk that yields between leaves. Behind the first leaves a large range is divided into
// parts, if the count must be exact and there are several workers (range_parts.hpp). Each part counts for
// itself, and the reply adds them up when all have ended. So such a count has no ceiling. Prefixes are listed
// in pages: a page ends before a prefix, when the client's limit, the ceiling of items, or time is used up.
#pragma once

#include "server/reply/connection_table.hpp"
#include "server/store/core/store_task.hpp"
#include "server/store/core/visibility.hpp"
#include "server/store/range/range_parts.hpp"
#include "server/store/range/range_tally.hpp"
#include "server/store/range/range_walk.hpp"

namespace mxkv::server {

class CountTask final : public index::ScanTask<CountTask, ItemTraits>, public RangeWalk {
  using Base = index::ScanTask<CountTask, ItemTraits>;

 public:
  static constexpr const char* kName = "range count";
  /// Longest delimiter; the parser checks it.
  static constexpr std::size_t kDelimiterBytes = protocol::kMaxDelimiterBytes;
  /// Leaves to count before the rest is estimated.
  static constexpr std::uint32_t kLeavesCounted = 64;

  CountTask(const runtime::TaskClass* task_class, ItemTree& tree, const protocol::RangeRequest& request,
            const RangeLimits& limits, RangeState& state, const ReplyAddress& address,
            std::uint64_t now_ns) noexcept;

  // --- For ScanTask ---
  [[nodiscard]] bool backward() const noexcept { return false; }
  class Leaf;
  [[nodiscard]] Leaf leaf_visitor(runtime::Worker& worker) noexcept;
  bool takes_whole(const index::LeafEntries& entries, unsigned first, unsigned last, runtime::Worker& worker);
  runtime::step finished(bool exhausted, runtime::Worker& worker);
  /// At home: the walk has come from another worker, or all parts have ended.
  runtime::step resume_item(runtime::Worker& worker);
  void discard(runtime::Worker& worker) {
    delete std::exchange(parts_, nullptr);
    release(worker);
  }

  // --- For RangeParts ---
  void start_part(RangePartTask& part, runtime::Worker& worker);
  void parts_ended(runtime::Worker& worker);
  void undivided(runtime::Worker& worker);

  // --- For RangeLock ---
  [[nodiscard]] bool only_reads() const noexcept { return true; }
  void begin(RangeLock& lock, runtime::Worker& worker) {
    hold(lock, worker);
    start(worker);
  }

 private:
  [[nodiscard]] std::string_view delimiter() const noexcept { return {delimiter_, delimiter_bytes_}; }
  /// Bytes of a key up to the end of the first delimiter behind the range's prefix; 0: it has none.
  [[nodiscard]] std::size_t group_bytes_of(std::string_view key) const noexcept;
  /// The next key is of another group. False: the page ends before it.
  bool change_group(std::size_t bytes, ReplyQueue& queue, runtime::Worker& worker);
  void write_group(ReplyQueue& queue);
  void write_total(ReplyQueue& queue);
  void write_end_of_groups(ReplyQueue& queue);
  runtime::step estimate_rest(runtime::Worker& worker);
  runtime::step divide_rest(runtime::Worker& worker);
  runtime::step begin_parts(runtime::Worker& worker);
  runtime::step answer(runtime::Worker& worker);

  RangeTally tally_;                ///< of the range, or of the group
  std::uint64_t single_items_ = 0;  ///< of keys without a delimiter
  std::uint64_t single_bytes_ = 0;
  RangeParts* parts_ = nullptr;  ///< of the range behind the first leaves
  RangeSplitting splitting_;
  std::uint32_t leaves_left_;  ///< before the rest is estimated, or divided
  protocol::NumericModes numeric_;
  bool exact_;                    ///< nothing is estimated
  bool by_item_;                  ///< reads each item
  bool names_only_;               ///< of prefixes
  bool estimated_ = false;        ///< of this group not all items were read
  bool skips_ = false;            ///< the walk jumps behind the group
  bool divides_ = false;          ///< at home: divides the rest of the range
  std::uint8_t group_bytes_ = 0;  ///< of the last counted key; 0: no such key, or it has no delimiter
  std::uint8_t delimiter_bytes_ = 0;
  char delimiter_[kDelimiterBytes];
};

static_assert(sizeof(CountTask) <= runtime::kLargestTaskBytes);

/// One leaf.
class CountTask::Leaf {
 public:
  Leaf(CountTask& task, runtime::Worker& worker) noexcept
      : task_(task),
        state_(*task.state_),
        worker_(worker),
        live_(worker, task.state_->moment_us),
        at_home_(task.is_home(worker)),
        queue_(find_queue(task, worker)) {}
  /// Takes an entry, in order. False: enough.
  bool visit(std::uint64_t head, std::uint64_t value);

 private:
  [[nodiscard]] static ReplyQueue* find_queue(CountTask& task, runtime::Worker& worker) noexcept {
    const Seen seen = task.saw(nullptr, task.here(), worker);
    return task.is_home(worker) ? worker.local<WorkerContext>().replies->find(task.address_, seen) : nullptr;
  }
  [[nodiscard]] bool count(const Item::View& item, std::string_view key);

  CountTask& task_;
  RangeState& state_;
  runtime::Worker& worker_;
  Liveness live_;
  bool at_home_;       ///< else the range is held, and nothing is written before all is counted
  ReplyQueue* queue_;  ///< at home; null: the client is gone
};

inline CountTask::Leaf CountTask::leaf_visitor(runtime::Worker& worker) noexcept {
  worker.charge(kTurnsOfLeaf);
  leaves_left_ -= leaves_left_ > 0 ? 1U : 0U;
  return Leaf{*this, worker};
}

}  // namespace mxkv::server

MXKV_TASK_CLASS(extern, mxkv::server::CountTask);
