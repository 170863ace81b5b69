// All commands that change one key: set add replace append prepend cas, delete, incr decr, touch, gat gats,
// and ms md ma, and mg where it may change the item (meta_writes.cpp).
//
// decide() knows what is there, builds the new item outside of the latch and says what to do; commit() mints
// the cas unique under the latch; committed() and left() answer on the home worker. A decision may be taken
// again when the leaf changed meanwhile, so what was built is dropped and built anew then.
#pragma once

#include "protocol/request.hpp"
#include "server/reply/reply_directory.hpp"
#include "server/store/item_builder.hpp"
#include "server/store/meta_reply.hpp"
#include "server/store/store_task.hpp"

namespace mxkv::server {

/// Arguments of a write, by command.
struct WriteRequest {
  std::uint64_t operand = 0;  ///< incr, decr: delta; cas: unique; touch, gat: exptime as i64
  CommitSeq seq = 0;
  protocol::verb op = protocol::verb::set;
  bool end_line = false;  ///< gat: END follows
  bool in_order = true;   ///< holds `seq`; gat does not, it is exclusive in its connection
};

/// What a meta command has beyond that; follows its task in the same block, before the key.
struct MetaWrite {
  protocol::MetaFlags flags;
  MetaFindings findings;
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

  /// ms; owns `item`; needs sizeof(MetaWrite) bytes behind the task.
  WriteTask(const runtime::TaskClass* task_class, ItemTree& tree, Item* item,
            const protocol::MetaFlags& flags, const WriteRequest& request,
            const ReplyAddress& address) noexcept
      : WriteTask(task_class, tree, item, request, address) {
    meta_ = new (this + 1) MetaWrite{flags, {}};
  }
  /// Any other meta command; needs sizeof(MetaWrite) + key.size() bytes behind the task.
  WriteTask(const runtime::TaskClass* task_class, ItemTree& tree, std::string_view key,
            const protocol::MetaFlags& flags, const WriteRequest& request,
            const ReplyAddress& address) noexcept
      : Base(task_class, tree),
        request_(request),
        address_(address),
        key_bytes_(static_cast<std::uint8_t>(key.size())) {
    meta_ = new (this + 1) MetaWrite{flags, {}};
    key_ = static_cast<const char*>(std::memcpy(meta_ + 1, key.data(), key.size()));
  }

  /// mg: what was seen before its access was noted.
  void set_findings(const MetaFindings& findings) noexcept { meta_->findings = findings; }

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
  [[nodiscard]] bool admitted(runtime::Worker& worker);
  runtime::step refused(runtime::Worker& worker);
  runtime::step resume_item(runtime::Worker& worker);
  void discard(runtime::Worker& worker);

 private:
  static constexpr std::uint16_t kNoSlot = 0xFFFF;
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
    return worker.id().value() == address_.worker;
  }
  [[nodiscard]] bool is_turn(runtime::Worker& worker) const noexcept;
  void wait_for_turn(runtime::Worker& worker);
  void let_go(runtime::Worker& worker);
  void let_others_go(runtime::Worker& worker);
  void leave_gate(runtime::Worker& worker) noexcept;
  index::Decision decide_storage(bool live, Item* old, runtime::Worker& worker);
  index::Decision decide_arithmetic(bool live, Item* old, runtime::Worker& worker);
  index::Decision decide_touch(bool live, Item* old, runtime::Worker& worker);
  index::Decision decide_client(bool found, Item* old, runtime::Worker& worker);
  index::Decision decide_meta(bool live, Item* old, runtime::Worker& worker);
  index::Decision decide_meta_get(bool live, Item* old, runtime::Worker& worker);
  index::Decision decide_meta_set(bool live, Item* old, runtime::Worker& worker);
  index::Decision decide_meta_delete(bool live, Item* old, runtime::Worker& worker);
  index::Decision decide_meta_arithmetic(bool live, Item* old, runtime::Worker& worker);
  /// An item with this value, and what the flags say of unique and key; null: out of memory.
  [[nodiscard]] Item* make_for_meta(std::string_view value, std::uint32_t flags, std::uint32_t expiry,
                                    std::uint32_t marks, runtime::Worker& worker) noexcept;
  void change_in_place(Item& item, runtime::Worker& worker) noexcept;
  [[nodiscard]] bool keeps_version(const Item* old) const noexcept;
  void write_meta_reply(ReplyQueue& queue, runtime::Worker& worker);
  index::Decision put(Item* item, result told) noexcept;
  index::Decision leave(result told) noexcept;
  void drop_built(runtime::Worker& worker) noexcept;
  runtime::step answer(runtime::Worker& worker);
  void write_reply(ReplyQueue& queue, runtime::Worker& worker);
  /// Tells those who watch what became of it. `item`: the one that was put, or else met; may be null.
  void tell_watchers(const Item* item, runtime::Worker& worker) const;
  void count(runtime::Worker& worker, bool found);
  void count_storage(runtime::Worker& worker, bool found);

  Item* item_ = nullptr;       ///< storage commands: what was sent; becomes the tree's when it is put itself
  const char* key_ = nullptr;  ///< the item's, or behind the task
  Item* built_ = nullptr;      ///< made from the old item; becomes the tree's when it is put
  Item* shown_ = nullptr;      ///< gat, meta: what is printed; safe under the pin
  MetaWrite* meta_ = nullptr;  ///< meta commands only
  WriteRequest request_;
  ReplyAddress address_;
  phase phase_ = phase::searching;
  result result_ = result::stored;
  std::uint8_t key_bytes_ = 0;
  bool puts_item_ = false;  ///< the last decision puts item_, else built_
  index::Decision::what decided_ = index::Decision::what::leave;
  std::uint16_t slot_ = kNoSlot;  ///< that it waits for, or was admitted to
  std::uint64_t number_ = 0;      ///< incr, decr: the new value
};

/// The task of a meta command on `key`, to begin().
[[nodiscard]] inline WriteTask* create_meta_write(runtime::Worker& worker, ItemTree& tree,
                                                  std::string_view key, const protocol::MetaFlags& flags,
                                                  const WriteRequest& request, const ReplyAddress& address) {
  static_assert(sizeof(WriteTask) + sizeof(MetaWrite) + protocol::kMaxKeyBytes <= runtime::kLargestTaskBytes);
  return worker.create_sized<WriteTask>(sizeof(WriteTask) + sizeof(MetaWrite) + key.size(), tree, key, flags,
                                        request, address);
}

}  // namespace mxkv::server
