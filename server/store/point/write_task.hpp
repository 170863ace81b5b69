// Takes a WriteOperation through the tree: to the leaf, at its turn, under its latch, and home with the
// reply.
//
// decide() sees the item and says what to do. commit() mints the order under the latch. committed() and
// left() answer on the home worker. If the leaf has changed meanwhile, decide() runs again.
#pragma once

#include "server/store/core/quotas.hpp"
#include "server/store/core/store_state.hpp"
#include "server/store/core/visibility.hpp"
#include "server/store/locks/range_locks.hpp"
#include "server/store/point/write_operation.hpp"
#include "server/store/upkeep/background_writes.hpp"
#include "server/store/upkeep/shortage.hpp"
#include "server/store/watch/watch_hub.hpp"

namespace mxkv::server {

class WriteTask final : public index::UpdateTask<WriteTask, ItemTraits>, public WriteOperation {
  using Base = index::UpdateTask<WriteTask, ItemTraits>;

 public:
  static constexpr const char* kName = "write";

  /// Makes the task of a request that may change its item; call start() next. `sent`: the value of a command
  /// that stores; the task owns it. `seq`: its place among the connection's writes, if it has one.
  [[nodiscard]] static WriteTask* create(runtime::Worker& worker, ItemTree& tree,
                                         const protocol::PointRequest& request, Item* sent,
                                         const ReplyAddress& address, CommitSeq seq) {
    return worker.create_sized<WriteTask>(sizeof(WriteTask) + bytes_behind(request), tree, request, sent,
                                          address, seq);
  }
  /// For create(): needs bytes_behind() more bytes.
  WriteTask(const runtime::TaskClass* task_class, ItemTree& tree, const protocol::PointRequest& request,
            Item* sent, const ReplyAddress& address, CommitSeq seq) noexcept
      : Base(task_class, tree), WriteOperation(request, sent, address), seq_(seq) {
    adopt(this + 1);
  }

  using WriteOperation::mind_quota;

  /// For mg: the state of the item before the command's own access was noted.
  void set_findings(const MetaFindings& findings) noexcept { meta_->findings = findings; }

  /// Lines of the old item that the task reads: all of them only if the new item is made from it.
  [[nodiscard]] unsigned record_lines(std::uint64_t word) const noexcept {
    const bool minds_key_alone =
        sets_ || (!request_.has_flags() &&
                  (request_.terms.action == protocol::point_action::remove ||
                   (request_.terms.action == protocol::point_action::store && !request_.joins())));
    return minds_key_alone ? ItemRecord::key_lines(word, key().size()) : ItemRecord::lines(word);
  }

  /// Before the task goes to the pool of a hot leaf: writes of a connection commit in the order sent, which only home knows.
  [[nodiscard]] bool may_leave(runtime::Worker& worker) {
    if (is_turn(worker)) {
      return true;
    }
    MXKV_PATH(write_stays_home);
    worker.unpin(*this);
    wait_for_turn(worker);
    return false;
  }

  // --- For UpdateTask ---
  [[gnu::always_inline]] index::Decision decide(bool found, std::uint64_t old, runtime::Worker& worker) {
    if (sets_ && !pass_.held() && is_turn(worker) && !worker.local<WorkerContext>().locks->holds_off(key()))
        [[likely]] {
      return {index::Decision::what::put, ItemRecord::word(item_)};
    }
    return decide_rarer(found, old, worker);
  }
  [[gnu::always_inline]] index::Change commit(ItemNode& leaf, bool found, std::uint64_t old,
                                              std::uint64_t value, runtime::Worker& worker) noexcept {
    return sets_ ? commit_put(leaf, found ? ItemRecord::item(old) : nullptr, *ItemRecord::item(value), worker)
                 : commit_rarer(leaf, found, old, value, worker);
  }
  void change_record(std::uint64_t word, runtime::Worker& worker) noexcept;
  [[gnu::always_inline]] runtime::step committed(bool found, std::uint64_t old, runtime::Worker& worker) {
    return sets_ && meta_ == nullptr ? stored(found, old, worker) : committed_rarer(found, old, worker);
  }
  runtime::step left(bool found, std::uint64_t old, runtime::Worker& worker);
  runtime::step out_of_memory(runtime::Worker& worker);
  [[nodiscard]] bool admitted(runtime::Worker& worker) {
    RangeLocks& locks = *worker.local<WorkerContext>().locks;
    if (pass_.held()) [[unlikely]] {
      pass_.leave(locks, worker);  // an operation that closes the slot now finds the leaf latched
      return true;
    }
    return !locks.holds_off(key());
  }
  runtime::step refused(runtime::Worker& worker);
  runtime::step resume_item(runtime::Worker& worker) {
    return phase_ == phase::searching ? Base::resume_item(worker) : resume_outside(worker);
  }
  void discard(runtime::Worker& worker);

 private:
  enum class phase : std::uint8_t { searching, waiting, short_of_memory, answering };
  [[nodiscard]] bool is_home(const runtime::Worker& worker) const noexcept {
    return worker.id().value() == address_.worker;
  }
  [[nodiscard]] bool is_turn(runtime::Worker& worker) const noexcept {
    return !request_.terms.ordered || !is_home(worker) ||
           worker.local<WorkerContext>().replies->commit_turn(address_, seq_);
  }
  void wait_for_turn(runtime::Worker& worker);
  [[gnu::noinline]] void leave_stale_pass(RangeLocks& locks, runtime::Worker& worker);
  [[gnu::noinline]] index::Decision decide_rarer(bool found, std::uint64_t old, runtime::Worker& worker);
  [[gnu::noinline]] index::Change commit_rarer(ItemNode& leaf, bool found, std::uint64_t old,
                                               std::uint64_t value, runtime::Worker& worker) noexcept;
  /// The usual end of a set: all steps of committed_rarer(), count() and answer() that it needs.
  [[nodiscard]] runtime::step stored(bool found, std::uint64_t old, runtime::Worker& worker);
  [[gnu::noinline]] runtime::step stored_rarer(const Item* before, Item& added, runtime::Worker& worker);
  [[gnu::noinline]] runtime::step committed_rarer(bool found, std::uint64_t old, runtime::Worker& worker);
  [[gnu::noinline]] index::Change commit_in_place(ItemNode& leaf, const Item& item, std::uint64_t before,
                                                  runtime::Worker& worker) const noexcept;
  [[gnu::noinline]] runtime::step resume_outside(runtime::Worker& worker);
  void unpin_and_park(runtime::Worker& worker);
  void let_others_go(runtime::Worker& worker);
  [[nodiscard]] bool waits_for_room(runtime::Worker& worker, runtime::step& next);
  runtime::step wait_for_room(runtime::Worker& worker);
  runtime::step answer(runtime::Worker& worker);

  phase phase_ = phase::searching;
  CommitSeq seq_;
  WriteGateTicket pass_;
  RoomWait room_wait_;
};

[[gnu::always_inline]] inline runtime::step WriteTask::stored(bool found, std::uint64_t old_word,
                                                              runtime::Worker& worker) {
  auto& context = worker.local<WorkerContext>();
  Item* const added = std::exchange(item_, nullptr);
  const std::size_t bytes = added->memory_bytes();
  if (found) [[likely]] {
    Item* const old = ItemRecord::item(old_word);
    const std::size_t old_bytes = old->memory_bytes();
    context.counters.count(counter::bytes_added, bytes - old_bytes);  // less than 0: it wraps around
    worker.retire(old, context.store->item_kind(), old_bytes);
  } else {
    context.counters.count(counter::items_added);
    context.counters.count(counter::bytes_added, bytes);
    welcome_item(context, *added);
  }
  context.counters.count(counter::total_items);
  context.counters.count(counter::cmd_set);
  if (context.quotas != nullptr) [[unlikely]] {
    context.quotas->stored(*added, found ? ItemRecord::item(old_word) : nullptr);
  }
  ConnectionTable& replies = *context.replies;
  char* const out = is_home(worker) && !context.watch->wants(~0U)
                        ? replies.reserve_next(address_, saw_change(context), protocol::kStored.size())
                        : nullptr;
  if (out == nullptr) [[unlikely]] {
    return stored_rarer(found ? ItemRecord::item(old_word) : nullptr, *added, worker);
  }
  MXKV_PATH(write_stored);
  char* const end = request_.has_flags() ? protocol::write_text(out, protocol::kMetaDone)
                                         : protocol::write_text(out, protocol::kStored);
  replies.answer_next_write(address_, end, seq_);
  return runtime::step::done;
}

}  // namespace mxkv::server

MXKV_TASK_CLASS(extern, mxkv::server::WriteTask);
