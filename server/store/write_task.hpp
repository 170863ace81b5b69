// All commands that change one key: set add replace append prepend cas, delete, incr decr, touch, gat gats.
//
// decide() knows what is there, builds the new item outside of the latch and says what to do; commit() mints
// the cas unique under the latch; committed() and left() answer on the home worker. A decision may be taken
// again when the leaf changed meanwhile, so what was built is dropped and built anew then.
#pragma once

#include "protocol/request.hpp"
#include "server/reply/reply_directory.hpp"
#include "server/store/item_builder.hpp"
#include "server/store/store_task.hpp"

namespace mxkv::server {

/// Arguments of a write, by command.
struct WriteRequest {
  std::uint64_t operand = 0;  ///< incr, decr: delta; cas: unique; touch, gat: exptime as i64
  CommitSeq seq = 0;
  protocol::verb op = protocol::verb::set;
  bool end_line = false;   ///< gat: END follows
  bool in_order = true;    ///< holds `seq`; gat does not, it is exclusive in its connection
  bool anonymous = false;  ///< the store's own: nobody is answered, no order is kept
};

class WriteTask final : public index::UpdateTask<WriteTask, ItemTraits> {
  using Base = index::UpdateTask<WriteTask, ItemTraits>;

 public:
  static constexpr const char* kName = "write";

  /// A storage command; owns `item`.
  WriteTask(const runtime::TaskClass* task_class, ItemTree& tree, Item* item, const WriteRequest& request,
            const ReplyAddress& address) noexcept
      : Base(task_class, tree),
        item_(item),
        key_(item->key().data()),
        request_(request),
        address_(address),
        key_bytes_(static_cast<std::uint8_t>(item->key().size())) {}
  /// Any other command; needs key.size() bytes behind the task.
  WriteTask(const runtime::TaskClass* task_class, ItemTree& tree, std::string_view key,
            const WriteRequest& request, const ReplyAddress& address) noexcept
      : Base(task_class, tree),
        request_(request),
        address_(address),
        key_bytes_(static_cast<std::uint8_t>(key.size())) {
    TrailingKey::store(this, key);
    key_ = TrailingKey::load(this, key_bytes_).data();
  }

  [[nodiscard]] std::string_view key() const noexcept { return {key_, key_bytes_}; }
  /// Lines of the old item that the task reads: all only where the new one is made from it.
  [[nodiscard]] unsigned record_lines(std::uint64_t word) const noexcept;

  /// Starts, or waits for its turn first where its writes will run on other workers.
  void begin(runtime::Worker& worker);

  // --- For UpdateTask ---
  index::Decision decide(bool found, std::uint64_t old, runtime::Worker& worker);
  void commit(ItemNode& leaf, bool found, std::uint64_t old, std::uint64_t value,
              runtime::Worker& worker) noexcept;
  runtime::step committed(bool found, std::uint64_t old, runtime::Worker& worker);
  runtime::step left(bool found, std::uint64_t old, runtime::Worker& worker);
  runtime::step out_of_memory(runtime::Worker& worker);
  runtime::step resume_item(runtime::Worker& worker);
  void discard(runtime::Worker& worker);

 private:
  enum class phase : std::uint8_t { searching, waiting, answering };
  /// What the client is told.
  enum class result : std::uint8_t {
    stored,
    not_stored,
    exists,
    not_found,
    deleted,
    touched,
    number,  ///< the new value
    value,   ///< gat: the item
    non_numeric,
    no_memory,
    too_large,
  };

  [[nodiscard]] bool is_home(const runtime::Worker& worker) const noexcept {
    return request_.anonymous || worker.id().value() == address_.worker;
  }
  [[nodiscard]] bool is_turn(runtime::Worker& worker) const noexcept;
  void wait_for_turn(runtime::Worker& worker);
  index::Decision decide_storage(bool live, Item* old, runtime::Worker& worker);
  index::Decision decide_arithmetic(bool live, Item* old, runtime::Worker& worker);
  index::Decision decide_touch(bool live, Item* old, runtime::Worker& worker);
  index::Decision put(Item* item, result told) noexcept;
  index::Decision leave(result told) noexcept;
  void drop_built(runtime::Worker& worker) noexcept;
  runtime::step answer(runtime::Worker& worker);
  void write_reply(ReplyQueue& queue, runtime::Worker& worker);
  void count(runtime::Worker& worker, bool found);

  Item* item_ = nullptr;       ///< storage commands: what was sent; becomes the tree's when it is put itself
  const char* key_ = nullptr;  ///< the item's, or behind the task
  Item* built_ = nullptr;      ///< made from the old item; becomes the tree's when it is put
  Item* shown_ = nullptr;      ///< gat: what is printed; safe under the pin
  WriteRequest request_;
  ReplyAddress address_;
  phase phase_ = phase::searching;
  result result_ = result::stored;
  std::uint8_t key_bytes_ = 0;
  bool puts_item_ = false;    ///< the last decision puts item_, else built_
  std::uint64_t number_ = 0;  ///< incr, decr: the new value
};

}  // namespace mxkv::server
