// mb: a batch of commands on any keys. Either all of them take effect at once, or none does.
//
// A session collects the lines, then the store runs them (batch_task.hpp). A line is a WriteOperation that
// sees the results of the lines before it. Lines of one key share a BatchKey, which follows the key's item
// from line to line. Only the item after the last line reaches the tree.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protocol/reply.hpp"
#include "server/store/batch/received_batch.hpp"
#include "server/store/core/quotas.hpp"
#include "server/store/item/item_builder.hpp"
#include "server/store/locks/key_partition.hpp"
#include "server/store/point/write_operation.hpp"

namespace mxkv::server {

class BatchLine;

/// A key of a batch. Plain: batch_task.hpp says which task writes it when.
struct BatchKey {
  std::string_view name;       ///< as its first line has it
  Item* found = nullptr;       ///< the tree's item; null: none, or one that does not count
  Item* current = nullptr;     ///< the item after the lines so far; null: none
  BatchLine* maker = nullptr;  ///< the line that owns `current`; null: the tree does
  std::uint64_t order = 0;   ///< the greatest so far, of all keys once lines are decided; the next is greater
  bool may_be_made = false;  ///< a line makes an item if there is none
  bool placed = false;       ///< the batch put a placeholder for it, which counts as absent
  bool removed = false;      ///< by the lines so far: the tree's item goes
  index::Change part;        ///< the change that its own commit reports, after the batch's
  [[nodiscard]] bool changed() const noexcept { return maker != nullptr || removed || placed; }
};

/// One command. Lives in a task block of its own.
class BatchLine final : public WriteOperation {
 public:
  /// `sent`: the value of an ms. The line owns it.
  [[nodiscard]] static BatchLine* create(runtime::Worker& worker, const protocol::PointRequest& request,
                                         Item* sent);
  static void destroy(runtime::Worker& worker, BatchLine* line) noexcept;

  /// Decides the key's next item. False: that is impossible, and the batch fails.
  [[nodiscard]] bool decide(BatchKey& key, const Liveness& live, runtime::Worker& worker);
  [[nodiscard]] bool lacked_memory() const noexcept { return lacks_memory(); }
  using WriteOperation::mind_quota;
  using WriteOperation::over_quota;
  [[nodiscard]] bool only_reads() const noexcept { return request_.only_reads(); }
  /// The error text of a line that failed, with or without an end of line.
  [[nodiscard]] std::string_view failure() const noexcept;
  [[nodiscard]] bool may_make_item() const noexcept;
  /// About the bytes of its reply, never too few. Once it is decided.
  [[nodiscard]] std::size_t reply_bytes() const noexcept;
  [[nodiscard]] const protocol::PointRequest& request() const noexcept { return request_; }
  /// Hands over the item of the line's value; null: it has none. Not after decide().
  [[nodiscard]] Item* take_sent() noexcept { return std::exchange(item_, nullptr); }
  /// Hands over the item that the line made current.
  [[nodiscard]] Item* take() noexcept { return take_put(); }
  void forget(runtime::Worker& worker) noexcept { drop_built(worker); }
  /// Writes the reply, after the batch was applied or undone. On the home worker.
  void answer(ReplyQueue* queue, std::uint32_t ticket, runtime::Worker& worker);

 private:
  BatchLine(const protocol::PointRequest& request, Item* sent, std::size_t block_bytes) noexcept
      : WriteOperation(request, sent, {}), block_(runtime::task_block_for(block_bytes)) {
    adopt(this + 1);
  }
  [[nodiscard]] bool failed() const noexcept;

  const Item* met_ = nullptr;  ///< the item before this line, if the line changed nothing
  runtime::task_block block_;
};

/// Thread-safety: owner worker only, until it is given to the store.
class Batch final : public ReceivedBatch {
 public:
  explicit Batch(std::uint32_t lines) noexcept : lines_to_come_(lines) {}
  ~Batch() override { MXKV_DCHECK(lines_.empty(), "a batch is stored or abandoned"); }
  [[nodiscard]] std::uint32_t missing() const noexcept override { return lines_to_come_; }
  [[nodiscard]] bool failed() const noexcept override { return failed_line_ != 0; }
  void add(runtime::Worker& worker, const protocol::PointRequest& request, ItemBuilder* value) override;
  void fail(runtime::Worker& worker, std::string_view text) override;
  void abandon(runtime::Worker& worker) noexcept override;
  /// Counts the lines, tells watchers, and writes the replies if there is a queue.
  void answer(ReplyQueue* queue, std::uint32_t ticket, runtime::Worker& worker) override;

  /// Calls `take(request, item)` for each line in order, and leaves none. `item` is the line's value, or
  /// null, and `take` owns it. Only while the store has not taken the batch, and the batch has not failed.
  template <class Take>
  void give_lines(runtime::Worker& worker, const Take& take) {
    for (BatchLine* const line : std::exchange(lines_, {})) {
      take(line->request(), line->take_sent());
      BatchLine::destroy(worker, line);
    }
  }

  // --- For BatchTask ---

  /// Groups the lines by key. All lines must have come.
  void group_by_key();
  [[nodiscard]] std::vector<BatchKey>& keys() noexcept { return keys_; }
  /// Decides the lines in order: each looks at its key's current item and makes the next one. False: a line
  /// failed.
  [[nodiscard]] bool decide(const Liveness& live, runtime::Worker& worker);
  /// Passes the changes of all keys through the commit point as one group. All lines were decided, and none
  /// failed.
  void pass(index::CommitPoint<std::string_view>& commits, runtime::Worker& worker);
  /// Forgets everything that look-ups and decisions found.
  void forget(runtime::Worker& worker) noexcept;
  [[nodiscard]] bool lacked_memory() const noexcept { return lacked_memory_; }
  void set_lacked_memory() noexcept;
  /// Bytes of the reply. Once all lines are decided.
  [[nodiscard]] std::size_t reply_bytes() const noexcept;
  /// Fails the batch with `text` if any line may change an item.
  void refuse_changes(std::string_view text);
  /// Lines must not make quotas larger that are full when they are decided. Call this before, on the worker of the tally.
  void mind_quotas(const Quotas& quotas, const QuotaTally& tally) noexcept;
  /// Fails the batch because there is no memory for its reply.
  void refuse_reply() { note_failure(lines_.size(), protocol::kNoReplyMemory); }
  /// The slots of its keys, by the current map.
  [[nodiscard]] runtime::SlotSet place(const KeyPartition& slots);
  /// Whether one of its keys is in `slot`, by the map that place() used.
  [[nodiscard]] bool touches(std::uint32_t slot) const noexcept {
    return std::binary_search(slots_.begin(), slots_.end(), slot);
  }

 private:
  void note_failure(std::size_t line, std::string_view text);

  std::uint32_t lines_to_come_;
  std::size_t lines_come_ = 0;
  std::size_t failed_line_ = 0;  ///< from 1; 0: none
  bool lacked_memory_ = false;
  std::string failure_;
  std::vector<BatchLine*> lines_;
  std::vector<BatchKey> keys_;
  std::vector<std::uint32_t> key_of_;  ///< by line
  std::vector<std::uint32_t> slots_;   ///< of the keys, in order, each once
};

}  // namespace mxkv::server
