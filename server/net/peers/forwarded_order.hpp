// Decides which writes may be forwarded to another node now, so that the writes of one client to one key take
// effect in the order sent, whichever way each write takes.
//
// The way to a shard may change between two writes. Two things could then put the later write first:
// - The earlier write went to this node's store and has not ended yet. So a forwarded write waits until the
//   earlier local writes of its client have ended. In the opposite case the store waits (CommitOrder).
// - The owner refused the earlier write, because its lease was over for a moment, and took the later one. So
//   of the writes of one client to one key only one is on its way at a time.
// A write waits only for earlier writes, and for none that stands in a shard's line. So no two writes wait for
// each other.
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

  /// A write came. Returns it if it may go at once; null: it is kept.
  [[nodiscard]] Owned take(Owned write) {
    write->after = write->address.connection->commits.here_end();
    if (behind_own_.empty() && may_follow_own(*write)) [[likely]] {
      return take_of_key(std::move(write));
    }
    behind_own_.push_back(std::move(write));
    return nullptr;
  }
  /// Calls go(write) for each write that no longer has to wait for writes of this node.
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
  /// Whether any write waits for writes of this node.
  [[nodiscard]] bool any_behind_own() const noexcept { return !behind_own_.empty(); }

  /// `ended` was on its way and has ended. Returns the next write of its client to its key, which may go now;
  /// null: there is none.
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
  /// The writes behind `late` have waited as long as it has: they are given up with it.
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
  /// The writes behind the one on its way, by client and key. Writes that share a hash only wait for each
  /// other.
  std::unordered_map<std::uint64_t, std::vector<Owned>> by_key_;
};

}  // namespace mxkv::server
