// What a command that changes one key makes of the item that it finds, and answers: set add replace append
// prepend cas, delete, incr decr, touch, gat gats, and ms md ma, and mg where it may change the item
// (meta_writes.cpp). How it gets to the item is not its concern: a WriteTask walks the tree for one, a batch
// decides many.
//
// decide_client() builds the new item and says what to do. It may be asked again when what was found has
// changed; what was built before is dropped then. Nothing of it needs a latch.
#pragma once

#include <algorithm>
#include <utility>

#include "index/update_task.hpp"
#include "protocol/request.hpp"
#include "server/reply/connection_table.hpp"
#include "server/store/point/meta_reply.hpp"
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

/// What a meta command has beyond that; follows its operation in the same block, before the key.
struct MetaWrite {
  protocol::MetaFlags flags;
  MetaFindings findings;
};

/// Thread-safety: whoever runs it. What replies and counts runs on the home worker.
class WriteOperation {
 public:
  [[nodiscard]] std::string_view key() const noexcept { return {key_, key_bytes_}; }
  /// Gives an item that is not in the tree yet a cas unique above `before`, and returns it.
  static std::uint64_t mint(Item& item, std::uint64_t before, runtime::Worker& worker) noexcept {
    const std::uint64_t cas = next_order(before, worker);
    item.set_cas(cas);
    return cas;
  }

 protected:
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

  WriteOperation(const WriteRequest& request, const ReplyAddress& address) noexcept
      : request_(request), address_(address) {}
  /// Keeps the address.
  void set_key(std::string_view key) noexcept {
    key_ = key.data();
    key_bytes_ = static_cast<std::uint8_t>(key.size());
  }
  /// A storage command; owns `item`.
  void set_item(Item* item) noexcept {
    item_ = item;
    set_key(item->key());
  }

  /// `old`: what the key refers to, whether `live` or expired; null: nothing. Safe to read under a pin.
  [[gnu::always_inline]] index::Decision decide_client(bool live, Item* old, runtime::Worker& worker) {
    if (meta_ != nullptr) {
      return decide_meta(live, old, worker);
    }
    return protocol::is_storage(request_.op) ? decide_storage(live, old, worker)
                                             : decide_other(live, old, worker);
  }
  /// The item of a decision to put, from now on the caller's.
  [[nodiscard]] Item* take_put() noexcept {
    return puts_item_ ? std::exchange(item_, nullptr) : std::exchange(built_, nullptr);
  }
  /// False: nothing that counts as a change.
  bool change_in_place(Item& item, runtime::Worker& worker) noexcept;
  /// Whether what is put is the same version of the item: a touch leaves it alone.
  [[nodiscard]] bool keeps_version(const Item* old) const noexcept;
  void drop_built(runtime::Worker& worker) noexcept {
    if (built_ != nullptr) [[unlikely]] {
      Item::destroy(worker, std::exchange(built_, nullptr));
    }
  }
  void drop_items(runtime::Worker& worker) noexcept {
    drop_built(worker);
    if (item_ != nullptr) [[unlikely]] {
      Item::destroy(worker, std::exchange(item_, nullptr));
    }
  }

  void write_reply(ReplyQueue& queue, runtime::Worker& worker);
  /// Tells those who watch what became of it. `item`: the one that was put, or else met; may be null.
  void tell_watchers(const Item* item, runtime::Worker& worker) const;
  void count(runtime::Worker& worker, bool found);

  Item* item_ = nullptr;       ///< storage commands: what was sent; becomes the tree's when it is put itself
  const char* key_ = nullptr;  ///< the item's, or behind the operation
  Item* built_ = nullptr;      ///< made from the old item; becomes the tree's when it is put
  Item* shown_ = nullptr;      ///< gat, meta: what is printed; safe under the pin
  MetaWrite* meta_ = nullptr;  ///< meta commands only
  WriteRequest request_;
  ReplyAddress address_;
  std::uint64_t number_ = 0;  ///< incr, decr: the new value
  result result_ = result::stored;
  std::uint8_t key_bytes_ = 0;
  bool puts_item_ = false;  ///< the last decision puts item_, else built_

 private:
  index::Decision decide_storage(bool live, Item* old, runtime::Worker& worker);
  index::Decision decide_other(bool live, Item* old, runtime::Worker& worker);
  index::Decision decide_arithmetic(bool live, Item* old, runtime::Worker& worker);
  index::Decision decide_touch(bool live, Item* old, runtime::Worker& worker);
  index::Decision decide_meta(bool live, Item* old, runtime::Worker& worker);
  index::Decision decide_meta_get(bool live, Item* old, runtime::Worker& worker);
  index::Decision decide_meta_set(bool live, Item* old, runtime::Worker& worker);
  index::Decision decide_meta_delete(bool live, Item* old, runtime::Worker& worker);
  index::Decision decide_meta_arithmetic(bool live, Item* old, runtime::Worker& worker);
  /// An item with this value, and what the flags say of unique and key; null: out of memory.
  [[nodiscard]] Item* make_for_meta(std::string_view value, std::uint32_t flags, std::uint32_t expiry,
                                    std::uint32_t marks, runtime::Worker& worker) noexcept;
  index::Decision put(Item* item, result told) noexcept;
  index::Decision leave(result told) noexcept;
  void write_meta_reply(ReplyQueue& queue, runtime::Worker& worker);
  void count_storage(runtime::Worker& worker, bool found);
};

}  // namespace mxkv::server
