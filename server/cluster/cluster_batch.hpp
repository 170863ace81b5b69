// mb on a node of a cluster: a batch of keys of one shard, which is here, or another node's. Which of the two is known
// with its first line; a later one of another shard fails it, wherever that shard is.
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

/// Thread-safety: owner worker only.
class ClusterBatch final : public ReceivedBatch {
 public:
  /// `own`: the store's, of as many lines. All outlive this.
  ClusterBatch(const Routes& routes, const runtime::Clock& clock, std::unique_ptr<ReceivedBatch> own,
               std::uint32_t lines);

  [[nodiscard]] std::uint32_t missing() const noexcept override { return lines_ - come_; }
  [[nodiscard]] bool failed() const noexcept override { return !failure_.empty() || own_->failed(); }
  void add(runtime::Worker& worker, const protocol::PointRequest& request, ItemBuilder* value) override;
  void fail(runtime::Worker& worker, std::string_view text) override;
  void abandon(runtime::Worker& worker) noexcept override;
  void answer(ReplyQueue* queue, std::uint32_t ticket, runtime::Worker& worker) override;

  // --- Once it is whole, and has not failed ---

  /// Its keys are another node's: take_text() is to be sent there.
  [[nodiscard]] bool is_elsewhere() const noexcept { return elsewhere_; }
  /// As it came, with its first line. The values' memory is given back.
  [[nodiscard]] std::string take_text(runtime::Worker& worker);
  /// The shard of its keys.
  [[nodiscard]] std::uint32_t shard() const noexcept { return *shard_; }
  /// Its keys were here when its lines came, and are another node's now.
  void leave(runtime::Worker& worker);
  /// Of keys that are here: the store's.
  [[nodiscard]] std::unique_ptr<ReceivedBatch> take_own() noexcept { return std::move(own_); }

 private:
  /// A value for another node. It counts as the store's memory until it is sent.
  struct Value {
    std::size_t behind;  ///< so many bytes of text_
    Item* item;
  };

  /// `item`: of what the line brings, or null.
  void add_text(const protocol::PointRequest& request, Item* item);

  const Routes& routes_;
  const runtime::Clock& clock_;
  std::unique_ptr<ReceivedBatch> own_;
  std::uint32_t lines_;
  std::uint32_t come_ = 0;
  bool elsewhere_ = false;
  std::optional<std::uint32_t> shard_;  ///< none: no line has come
  std::string text_;                    ///< the lines alone
  std::vector<Value> values_;
  std::string failure_;  ///< where the store's does not have it
};

}  // namespace mxkv::server
