// One page of a dump of all keys, in key order: lines as memcached writes them. Nothing is
// bumped, and values are not read.
#pragma once

#include "server/store/range/dump_progress.hpp"
#include "server/store/store_task.hpp"

namespace mxkv::server {

class ReplyQueue;

class DumpTask final : public index::ScanTask<DumpTask, ItemTraits> {
  using Base = index::ScanTask<DumpTask, ItemTraits>;

 public:
  static constexpr const char* kName = "dump";
  static constexpr std::uint32_t kPageBytes = std::uint32_t{64} << 10U;  ///< of output; a page ends above it

  DumpTask(const runtime::TaskClass* task_class, ItemTree& tree, DumpProgress& progress,
           std::int64_t wall_ahead_s, const ReplyAddress& address) noexcept
      : Base(task_class, tree), progress_(&progress), wall_ahead_s_(wall_ahead_s), address_(address) {
    set_key(progress.last());
  }

  // --- For ScanTask ---
  [[nodiscard]] std::string_view key() const noexcept { return key_.view(); }
  void set_key(std::string_view key) noexcept { key_.set(key); }
  [[nodiscard]] static bool backward() noexcept { return false; }
  bool visit(std::uint64_t head, std::uint64_t value, runtime::Worker& worker);
  runtime::step finished(bool exhausted, runtime::Worker& worker);
  void discard(runtime::Worker& worker);

 private:
  DumpProgress* progress_;
  std::int64_t wall_ahead_s_;  ///< the times that are told are the wall clock's, as absolute exptimes are
  ReplyAddress address_;
  std::uint32_t bytes_ = 0;  ///< written
  HeldKey key_;              ///< where to go on
};

static_assert(sizeof(DumpTask) <= runtime::kLargestTaskBytes);

}  // namespace mxkv::server
