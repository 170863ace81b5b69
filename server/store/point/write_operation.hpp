// A request for one key that may change its item: it decides (point_decisions.hpp), builds the item, counts,
// tells watchers and replies. It does not find the item itself: a WriteTask walks the tree for one operation,
// a batch decides many.
//
// If the item found has changed, decide_client() may be called again; it drops the item that it had built.
// Nothing here needs a latch.
#pragma once

#include <algorithm>
#include <utility>

#include "index/update_task.hpp"
#include "protocol/reply.hpp"
#include "server/reply/connection_table.hpp"
#include "server/store/core/store_task.hpp"
#include "server/store/point/meta_reply.hpp"
#include "server/store/point/point_decisions.hpp"
#include "server/store/upkeep/expiry_sweep.hpp"

namespace mxkv::server {

class PrefixCounts;

/// The additional state of a meta command. It follows its operation in the same block, before the key.
struct MetaWrite {
  protocol::MetaFlags flags;
  MetaFindings findings;
};

/// Thread-safety: the task that runs it. Functions that reply or count run on the home worker.
class WriteOperation {
 public:
  [[nodiscard]] std::string_view key() const noexcept { return request_.key; }
  /// Gives an item that is not yet in the tree an order above `before`, and returns it.
  static std::uint64_t mint(Item& item, std::uint64_t before, runtime::Worker& worker) noexcept {
    const std::uint64_t order = next_order(before, worker);
    item.set_order(order);
    return order;
  }
  /// Under the leaf's latch: an item is put as a new version, in place of `old`, null if the leaf has none. Gives it an
  /// order, and the reads of the old one.
  [[gnu::always_inline]] static index::Change commit_put(ItemNode& leaf, const Item* old, Item& item,
                                                         runtime::Worker& worker) noexcept {
    const std::uint64_t before = order_before(old, leaf);
    if (const std::uint32_t expiry = item.expiry(); expiry != 0) [[unlikely]] {
      ExpirySweep::note(leaf, expiry, worker);
    }
    if (old != nullptr) [[likely]] {
      item.keep_reads(*old);
    }
    return index::Change::put(mint(item, before, worker));
  }

 protected:
  /// `sent`: the value of a command that stores; the operation owns it from now on. Key and flags are the
  /// caller's until adopt().
  WriteOperation(const protocol::PointRequest& request, Item* sent, const ReplyAddress& address) noexcept
      : request_(request),
        decision_(request.sets() ? stores(item_source::sent) : PointDecision{}),
        item_(sent),
        address_(address),
        sets_(request.sets()) {}

  /// Bytes behind an operation that adopt() needs.
  [[nodiscard]] static std::size_t bytes_behind(const protocol::PointRequest& request) noexcept {
    return (request.has_flags_of_its_own() ? sizeof(MetaWrite) : 0) + request.key.size();
  }
  /// Copies key and flags to `behind`. A received item has the key, too, but in other cache lines.
  void adopt(void* behind) noexcept {
    if (request_.has_flags_of_its_own()) [[unlikely]] {
      meta_ = new (behind) MetaWrite{*request_.flags, {}};
      request_.flags = &meta_->flags;
      behind = meta_ + 1;
    }
    auto* const key = static_cast<char*>(behind);
    protocol::write_short_text(key, request_.key);
    request_.key = {key, request_.key.size()};
  }

  /// `old`: the item that the key refers to, `live` or expired; null: none. Safe to read under a pin.
  [[gnu::always_inline]] index::Decision decide_client(bool live, Item* old, runtime::Worker& worker) {
    const FoundItem found{old, live};
    if (request_.terms.action == protocol::point_action::store) [[likely]] {
      decision_ = decide_store(request_, found, *item_, limits_of(request_, worker));
    } else {
      decision_ = decide_other(found, worker);
    }
    MXKV_DCHECK(old != nullptr || decision_.fate != entry_fate::removed, "only what is there is removed");
    if (minds_quota_) [[unlikely]] {
      refuse_growth(old, worker);
    }
    if (!request_.has_flags()) [[likely]] {
      if (puts_sent()) [[likely]] {
        return {index::Decision::what::put, ItemRecord::word(item_)};
      }
      if (decision_.fate == entry_fate::removed) {
        return {index::Decision::what::remove, 0};
      }
    }
    return build(live ? old : nullptr, worker);
  }
  /// Hands over the item of a decision to put.
  [[nodiscard]] Item* take_put() noexcept {
    return puts_sent() ? std::exchange(item_, nullptr) : std::exchange(built_, nullptr);
  }
  [[nodiscard]] bool puts_sent() const noexcept { return decision_.source == item_source::sent; }
  /// Applies the decision to an item: under the leaf's latch, or before the item is in a tree.
  void change_in_place(Item& item) const noexcept;
  /// Whether that changes anything that has to be recorded: another expiry.
  [[nodiscard]] bool is_touch(const Item& item) const noexcept {
    return request_.terms.touches && item.has_expiry_field() && decision_.expiry != item.expiry();
  }
  /// The item's marks afterwards.
  [[nodiscard]] std::uint32_t marks_after(const Item& item) const noexcept {
    return item.marks() | (decision_.wins ? std::uint32_t{Item::kWon} : 0U);
  }
  /// Whether the item that is put is the same version: a touch keeps it.
  [[nodiscard]] bool keeps_version(const Item* old) const noexcept {
    return request_.terms.action == protocol::point_action::read && old != nullptr && !decision_.makes;
  }
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

  /// The quota of the key is near its limit: the operation is refused if it makes the quota larger when that is full.
  /// Before it is decided.
  void mind_quota() noexcept {
    minds_quota_ = true;
    sets_ = false;
  }
  /// Whether it was refused for that. Then it gets the same reply as without memory, and waits for none.
  [[nodiscard]] bool over_quota() const noexcept { return over_quota_; }
  [[nodiscard]] bool lacks_memory() const noexcept {
    return decision_.result == point_result::no_memory && !over_quota_;
  }
  void set_lacks_memory() noexcept { decision_ = leaves(point_result::no_memory); }
  /// If the item was read, notes that. Then replies, if there is a queue.
  void answer_client(ReplyQueue* queue, std::uint32_t ticket, runtime::Worker& worker);
  /// Tells watchers the outcome. `before`: the item that was met, live or not; `item`: the item that was put,
  /// or else met. Both may be null.
  void tell_watchers(const Item* before, const Item* item, runtime::Worker& worker) const;
  void count(runtime::Worker& worker, bool found);

  protocol::PointRequest request_;
  PointDecision decision_;     ///< the last one
  Item* item_ = nullptr;       ///< the received item; the tree's once it was put
  Item* built_ = nullptr;      ///< made by the decision; the tree's once it was put
  Item* shown_ = nullptr;      ///< the item the reply shows, or null; safe under the pin
  MetaWrite* meta_ = nullptr;  ///< of meta commands with flags
  ReplyAddress address_;
  bool sets_;  ///< request_.sets(): decided at once, whatever the key refers to
  bool minds_quota_ = false;
  bool over_quota_ = false;  ///< by the last decision

 private:
  /// They bound joined values only.
  [[nodiscard]] static PointLimits limits_of(const protocol::PointRequest& request,
                                             runtime::Worker& worker) noexcept {
    return request.joins() ? joined_limits(worker) : PointLimits{};
  }
  /// Out of line, so that decide_client() stays short.
  [[nodiscard, gnu::noinline]] PointDecision decide_other(const FoundItem& found,
                                                          runtime::Worker& worker) const noexcept {
    return decide_change(request_, found, Moment{worker});
  }
  [[nodiscard]] static PointLimits joined_limits(runtime::Worker& worker) noexcept;
  [[gnu::noinline]] void refuse_growth(const Item* old, runtime::Worker& worker) noexcept;
  index::Decision build(Item* live_old, runtime::Worker& worker);
  [[nodiscard]] Item* make(const Item* old, runtime::Worker& worker) const noexcept;
  [[nodiscard]] Item* make_new(std::string_view value, std::uint32_t flags,
                               runtime::Worker& worker) const noexcept;
  void note_read(runtime::Worker& worker) const noexcept;
  void count_prefix(PrefixCounts& prefixes) const;
  [[gnu::noinline]] void write_reply(ReplyQueue& queue, std::uint32_t ticket, runtime::Worker& worker) const;
  /// Replies of commands that store or remove show nothing of the item found.
  [[nodiscard]] bool tells_findings() const noexcept {
    return meta_ != nullptr && (request_.terms.action == protocol::point_action::read ||
                                request_.terms.action == protocol::point_action::count);
  }
  void note_findings(const Item* old, const Moment& moment) noexcept;
  void count_read(runtime::Worker& worker, bool found) const;
  void count_store(runtime::Worker& worker, bool found) const;
};

}  // namespace mxkv::server
