// Usual sets of one connection that start together, stored at once: the leaves of their keys are found in a row
// (index/row_put.hpp), the items are put one after the other, in the order sent, and the replies are written one behind
// the other. Work common to the row is done once.
//
// A row ends before the first set that is no plain case: its search, its leaf, an operation that holds its key, or its
// memory. That set and all after it need tasks (write_task.hpp), because the writes of a connection commit in the
// order sent.
#pragma once

#include <span>

#include "index/row_put.hpp"
#include "protocol/set_lines.hpp"
#include "server/reply/reply_address.hpp"
#include "server/store/core/item_tree.hpp"

namespace mxkv::server {

class WriteRow {
 public:
  using Put = index::RowPut<ItemTraits>;
  /// Fewer sets are tasks, as fewer reads are (read_row.hpp).
  static constexpr std::size_t kLeast = 4;

  /// Whether sets from `seq` on may be stored in rows now: their turn has come, the client waits for replies, no
  /// watcher follows writes, and changes are not refused. On the home worker.
  [[nodiscard]] static bool may_write(const ReplyAddress& first, CommitSeq seq,
                                      runtime::Worker& worker) noexcept;

  /// Stores the values, at most Put::kMost; answers and ends the writes. `first`, `seq`: of the first one. The others
  /// have the numbers after these. Returns how many, from the first on. On the home worker.
  [[nodiscard]] static std::size_t store(ItemTree& tree, std::span<const protocol::SentValue> values,
                                         const ReplyAddress& first, CommitSeq seq, runtime::Worker& worker);
};

}  // namespace mxkv::server
