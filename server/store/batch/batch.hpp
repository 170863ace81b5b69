// mb: a batch of commands on any keys, all of which take effect at once, or none does.
//
// A session collects the lines; then the store runs them (batch_task.hpp). A line is a WriteOperation that
// finds what the lines before it left. Lines of one key share a BatchKey, which follows the key's item
// through them; only where it ends up reaches the tree.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protocol/reply.hpp"
#include "server/store/item/item_builder.hpp"
#include "server/store/locks/key_partition.hpp"
#include "server/store/point/write_operation.hpp"
#include "server/store/session_store.hpp"

namespace mxkv::server {

class BatchLine;

/// A key of a batch. Plain; see batch_task.hpp for who writes it when.
struct BatchKey {
  std::string_view name;       ///< in its first line
  Item* found = nullptr;       ///< what the tree has; null: nothing that counts
  Item* current = nullptr;     ///< after the lines so far; null: nothing
  BatchLine* maker = nullptr;  ///< the line that owns `current`; null: it is what the tree has
  std::uint64_t cas = 0;       ///< the next one's is greater
  bool may_be_made = false;    ///< some line makes an item where there is none
  bool placed = false;         ///< the tree got an entry for it, with an item that nobody counts as there
  bool removed = false;        ///< by the lines so far; what the tree has goes
  index::Change part;          ///< what its own commit says, once the whole has passed
  [[nodiscard]] bool changed() const noexcept { return maker != nullptr || removed || placed; }
};

/// One command. Lives in a task block of its own.
class BatchLine final : public WriteOperation {
 public:
  /// `sent`: of ms; the line's.
  [[nodiscard]] static BatchLine* create(runtime::Worker& worker, const protocol::PointRequest& request,
                                         Item* sent);
  static void destroy(runtime::Worker& worker, BatchLine* line) noexcept;

  /// What is to become of the key. False: it cannot be, and the batch fails.
  [[nodiscard]] bool decide(BatchKey& key, const Liveness& live, runtime::Worker& worker);
  [[nodiscard]] bool lacked_memory() const noexcept { return lacks_memory(); }
  [[nodiscard]] bool only_reads() const noexcept { return request_.only_reads(); }
  /// What is said of a line that failed; with or without an end of line.
  [[nodiscard]] std::string_view failure() const noexcept;
  [[nodiscard]] bool may_make_item() const noexcept;
  /// Memory of its reply, once it is decided: about, and not less.
  [[nodiscard]] std::size_t reply_bytes() const noexcept;
  [[nodiscard]] const protocol::PointRequest& request() const noexcept { return request_; }
  /// The item of what it brings, from now on the caller's; null: it brings nothing. Not of one that was decided.
  [[nodiscard]] Item* take_sent() noexcept { return std::exchange(item_, nullptr); }
  /// The item that it has made current.
  [[nodiscard]] Item* take() noexcept { return take_put(); }
  void forget(runtime::Worker& worker) noexcept { drop_built(worker); }
  /// After all is done. On the home worker.
  void answer(ReplyQueue* queue, std::uint32_t ticket, runtime::Worker& worker);

 private:
  BatchLine(const protocol::PointRequest& request, Item* sent, std::size_t block_bytes) noexcept
      : WriteOperation(request, sent, {}), block_(runtime::task_block_for(block_bytes)) {
    adopt(this + 1);
  }
  [[nodiscard]] bool failed() const noexcept;

  const Item* met_ = nullptr;  ///< the current one before it, if it changed nothing
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
  /// Counts, tells those who watch, and writes the replies if there is a queue.
  void answer(ReplyQueue* queue, std::uint32_t ticket, runtime::Worker& worker) override;

  /// Of one that the store has not taken, and that has not failed: each line goes to `take(request, item)`, as it came;
  /// the item is what it brings, or null, and the taker's. None is left.
  template <class Take>
  void give_lines(runtime::Worker& worker, const Take& take) {
    for (BatchLine* const line : std::exchange(lines_, {})) {
      take(line->request(), line->take_sent());
      BatchLine::destroy(worker, line);
    }
  }

  // --- For BatchTask ---

  /// All lines are there: groups them by key.
  void group_by_key();
  [[nodiscard]] std::vector<BatchKey>& keys() noexcept { return keys_; }
  /// The lines find what they are to change, and make of it what is to be, one after the other. False: one
  /// failed.
  [[nodiscard]] bool decide(const Liveness& live, runtime::Worker& worker);
  /// All lines were decided, and none failed: what they make of the keys passes the commit point as one.
  void pass(const Liveness& live, index::CommitPoint<std::string_view>& commits, runtime::Worker& worker);
  /// As if the keys had not been looked for.
  void forget(runtime::Worker& worker) noexcept;
  [[nodiscard]] bool lacked_memory() const noexcept { return lacked_memory_; }
  void set_lacked_memory() noexcept;
  /// Memory of the reply, once it is decided.
  [[nodiscard]] std::size_t reply_bytes() const noexcept;
  /// Nothing may be changed now: it fails if a line may do so.
  void refuse_changes(std::string_view text);
  /// There is none for that.
  void refuse_reply() { note_failure(lines_.size(), protocol::kNoReplyMemory); }
  /// The slots of its keys, by the map of now.
  [[nodiscard]] runtime::SlotSet place(const KeyPartition& slots);
  /// Whether it has a key there, by the map of place().
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
