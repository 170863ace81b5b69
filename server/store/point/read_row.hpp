// Gets and mgs that start together, answered at once: their keys are looked up in a row (index/row_walk.hpp), and
// the replies are written one behind the other. Work common to the row is done once.
//
// A row ends before the first read that is no plain case: its search, its item, or its room. That read needs a task
// (get_task.hpp).
#pragma once

#include <span>

#include "index/row_walk.hpp"
#include "protocol/get_lines.hpp"
#include "server/reply/reply_address.hpp"
#include "server/store/core/item_tree.hpp"
#include "server/store/core/liveness.hpp"

namespace mxkv::server {

class ReadRow {
 public:
  using Walk = index::RowWalk<ItemTraits>;
  /// Fewer reads are tasks: too few for each other's lines to arrive meanwhile, while tasks of other connections
  /// are in the window.
  static constexpr std::size_t kLeast = 4;

  /// Whether reads may be answered in rows now: they need not wait for the disk, and no watcher follows reads.
  [[nodiscard]] static bool may_read(runtime::Worker& worker) noexcept;

  /// Looks the keys up, at most Walk::kMost.
  ReadRow(const ItemTree& tree, std::span<const protocol::AskedKey> keys) noexcept;
  /// How many reads, from the first on, were looked up.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  /// Answers and ends the reads, whose tickets follow the one of `first`. Returns how many, from the first on. On
  /// the home worker.
  [[nodiscard]] std::size_t answer(bool with_cas, const ReplyAddress& first, runtime::Worker& worker);
  /// Writes replies from the read at place `from` on, and counts them; ends before the first one without room.
  /// Returns how many, and sets `out` to their end.
  [[nodiscard]] std::size_t write(std::size_t from, bool with_cas, char*& out, const char* limit,
                                  runtime::Worker& worker) const;

 private:
  /// Bytes of room for the reply to the read at place `i`.
  [[nodiscard]] std::size_t room_for(std::size_t i) const noexcept;

  std::span<const protocol::AskedKey> keys_;
  Walk walk_;
  std::size_t size_;
};

}  // namespace mxkv::server
