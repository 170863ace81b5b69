// Which writes may be sent on to another node now: writes of one client to one key take effect in the order sent,
// whichever way each of them goes.
//
// The way of a shard may change between two writes. Then two things would put the later write first:
//   - The earlier one went to this node's store, and has not ended yet. So a write waits until those of its client that
//     take effect here have ended. The other way round the store waits, by CommitOrder.
//   - The owner refused the earlier one, since its lease was over for a moment, and took the later one. So of the writes
//     of one client to one key only one is on its way.
// A write waits for earlier ones only, and for none of a shard's line. So no two wait for each other.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/base/assert.hpp"
#include "server/cluster/request_forwarder.hpp"
#include "server/reply/connection_table.hpp"

namespace mxkv::server {

/// Of one worker. Thread-safety: owner worker only.
class ForwardedOrder {
 public:
  using Owned = std::unique_ptr<ForwardedRequest>;

  /// A write came. It may go at once, or is kept: then null is returned.
  [[nodiscard]] Owned take(Owned write) {
    write->after = write->address.connection->commits.here_end();
    if (behind_own_.empty() && may_follow_own(*write)) [[likely]] {
      return take_of_key(std::move(write));
    }
    behind_own_.push_back(std::move(write));
    return nullptr;
  }
  /// Calls go(write) for each that no longer has to wait for writes of this node.
  template <class F>
  void release(const F& go) {
    std::vector<Owned> still;
    for (Owned& write : std::exchange(behind_own_, {})) {
      if (!may_follow_own(*write)) {
        still.push_back(std::move(write));
      } else if (Owned first = take_of_key(std::move(write)); first != nullptr) {
        go(std::move(first));
      }
    }
    behind_own_ = std::move(still);
  }
  /// Whether any waits for writes of this node.
  [[nodiscard]] bool any_behind_own() const noexcept { return !behind_own_.empty(); }

  /// A write ended that went. The next one of its client to its key, which may go now; null: there is none.
  [[nodiscard]] Owned next_of(const ForwardedRequest& ended) {
    const auto at = by_key_.find(ended.key_of_client);
    MXKV_ASSERT(at != by_key_.end(), "a write that went is known until it ended");
    if (at->second.empty()) [[likely]] {
      by_key_.erase(at);
      return nullptr;
    }
    Owned next = std::move(at->second.front());
    at->second.erase(at->second.begin());
    next->goes = true;
    return next;
  }
  /// Those behind this one have waited as long as it has: they are given up with it.
  void give_up_behind(const ForwardedRequest& late) {
    if (const auto at = by_key_.find(late.key_of_client); at != by_key_.end()) {
      for (const Owned& write : at->second) {
        write->give_up_ns = late.give_up_ns;
      }
    }
  }

 private:
  [[nodiscard]] static bool may_follow_own(const ForwardedRequest& write) noexcept {
    return write.address.connection->commits.has_ended(write.after);
  }
  [[nodiscard]] Owned take_of_key(Owned write) {
    const auto [at, first] = by_key_.try_emplace(write->key_of_client);
    if (!first) [[unlikely]] {
      at->second.push_back(std::move(write));
      return nullptr;
    }
    write->goes = true;
    return write;
  }

  std::vector<Owned> behind_own_;  ///< in the order sent
  /// The writes behind the one that goes, by client and key. Two that share a number only wait for each other.
  std::unordered_map<std::uint64_t, std::vector<Owned>> by_key_;
};

}  // namespace mxkv::server
