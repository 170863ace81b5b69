#include "server/durability/access_notes.hpp"

#include "runtime/base/assert.hpp"
#include "runtime/base/cache_line.hpp"
#include "server/durability/item_record.hpp"
#include "server/store/core/item_tree.hpp"

namespace mxkv::server {

namespace {

/// The items of a tree in the order of their keys, a leaf at a time, while no worker runs.
class ItemWalk {
 public:
  explicit ItemWalk(const ItemTree& tree) noexcept : leaf_(node_at(tree.root().word())) {
    while (!leaf_->leaf()) {
      leaf_ = node_at(leaf_->value(false, {}));
    }
    enter();
  }

  /// Null: there are no more.
  const Item* next() noexcept {
    while (at_ == entries_.count) {
      if (leaf_->meta().high_infinite()) {
        return nullptr;
      }
      leaf_ = node_at(leaf_->right());
      enter();
    }
    return ItemRecord::item(entries_.values[at_++]);
  }

 private:
  static const ItemNode* node_at(std::uint64_t word) noexcept {
    return static_cast<const ItemNode*>(runtime::TaggedPointer{word}.object());
  }
  void enter() noexcept {
    MXKV_ASSERT(leaf_->leaf(), "the right neighbour of a leaf is a leaf");
    leaf_->copy_entries(leaf_->meta(), false, entries_);
    at_ = 0;
    for (unsigned i = 0; i < entries_.count; ++i) {
      runtime::prefetch_read(ItemRecord::item(entries_.values[i]));
    }
  }

  const ItemNode* leaf_;
  index::Entries entries_;
  unsigned at_ = 0;
};

/// Whether the item may have got its code then or later.
bool read_since(const Item& item, std::uint64_t since_us) noexcept {
  return item.access_code() != 0 && item.last_access_us() + access_code::kStepUs > since_us;
}

}  // namespace

void record_accesses(Store& store, std::uint64_t since_us, std::uint64_t now_us, Journal& journal) {
  for (std::size_t i = 0; i < store.tree().runtime().worker_count(); ++i) {
    journal.park(runtime::WorkerId{static_cast<std::uint16_t>(i)});  // else the writer waits for the worker's
                                                                     // next round
  }
  ItemWalk walk{store.tree()};
  const std::uint64_t flushed_us = store.flush_points().at(now_us);
  journal.record_alone([&](RecordBuffer& buffer) {
    if (journal.writer().state() != journal_state::running) {
      return false;
    }
    const Item* item = walk.next();
    for (; item != nullptr; item = walk.next()) {
      if (read_since(*item, since_us) && !is_expired(item->expiry(), now_us) && item->order() > flushed_us) {
        break;
      }
    }
    if (item == nullptr) {
      return false;
    }
    buffer.append(TouchRecord{
        .order = item->order(), .key = item->key(), .expiry = item->expiry(), .access = item->access_code()});
    return true;
  });
}

}  // namespace mxkv::server
