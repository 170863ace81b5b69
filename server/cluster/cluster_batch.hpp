// mb on a node of a cluster: a batch of keys of one shard, which this node or another one has. The first line
// decides which of the two. A later line of another shard fails the batch, wherever that shard is.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/clock.hpp"
#include "server/cluster/routes.hpp"
#include "server/store/session_store.hpp"

namespace mxkv::server {

class Item;

/// Thread-safety: owner worker only.
class ClusterBatch final : public ReceivedBatch {
 public:
  /// `own`: the store's batch, for the same number of lines. All arguments outlive this.
  ClusterBatch(const Routes& routes, const runtime::Clock& clock, std::unique_ptr<ReceivedBatch> own,
               std::uint32_t lines);

  [[nodiscard]] std::uint32_t missing() const noexcept override { return lines_ - come_; }
  [[nodiscard]] bool failed() const noexcept override { return !failure_.empty() || own_->failed(); }
  void add(runtime::Worker& worker, const protocol::PointRequest& request, ItemBuilder* value) override;
  void fail(runtime::Worker& worker, std::string_view text) override;
  void abandon(runtime::Worker& worker) noexcept override;
  void answer(ReplyQueue* queue, std::uint32_t ticket, runtime::Worker& worker) override;

  // --- Once the batch is whole, and has not failed ---

  /// Another node has the keys: the caller sends take_text() there.
  [[nodiscard]] bool is_elsewhere() const noexcept { return elsewhere_; }
  /// The batch as it arrived, with its first line. Frees the values' memory.
  [[nodiscard]] std::string take_text(runtime::Worker& worker);
  /// The shard of its keys.
  [[nodiscard]] std::uint32_t shard() const noexcept { return *shard_; }
  /// The shard was here when the lines arrived, and is now at another node.
  void leave(runtime::Worker& worker);
  /// The store's batch, if the keys are here.
  [[nodiscard]] std::unique_ptr<ReceivedBatch> take_own() noexcept { return std::move(own_); }

 private:
  /// A value to forward. It counts as the store's memory until it is sent.
  struct Value {
    std::size_t behind;  ///< its position in text_
    Item* item;
  };

  /// `item`: the line's value, or null.
  void add_text(const protocol::PointRequest& request, Item* item);

  const Routes& routes_;
  const runtime::Clock& clock_;
  std::unique_ptr<ReceivedBatch> own_;
  std::uint32_t lines_;
  std::uint32_t come_ = 0;
  bool elsewhere_ = false;
  std::optional<std::uint32_t> shard_;  ///< empty: no line has arrived
  std::string text_;                    ///< the lines without their values
  std::vector<Value> values_;
  std::string failure_;  ///< a failure that the store's batch does not know
};

}  // namespace mxkv::server
