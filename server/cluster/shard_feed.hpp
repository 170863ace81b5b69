// Selects the store's changes that go to the logs: all except those that came from a log.
//
// It stands between the commit point and the store's journal. A follower's tree changes as its owner's log
// says; if these changes were recorded again, they would return for ever.
#pragma once

#include <string_view>

#include "index/commit_point.hpp"
#include "runtime/scheduler/worker.hpp"
#include "server/store/core/worker_context.hpp"

namespace mxkv::server {

/// Whether ShardMemory makes the change that passes the commit point on this worker now. On the worker.
[[nodiscard]] inline bool applies(runtime::Worker& worker) noexcept {
  return worker.local<WorkerContext>().applies;
}

/// Thread-safety: as CommitListener.
class ShardFeed final : public index::CommitListener<std::string_view> {
 public:
  /// `next` gets the clients' changes; it outlives this.
  explicit ShardFeed(index::CommitListener<std::string_view>& next) noexcept : next_(next) {}

  void passed(const index::Commit<std::string_view>& commit, runtime::Worker& worker) noexcept override {
    if (!applies(worker)) [[likely]] {
      next_.passed(commit, worker);
    }
  }
  // A change from a log is never part of a group.
  void group_begins(runtime::Worker& worker) noexcept override { next_.group_begins(worker); }
  void group_ends(runtime::Worker& worker) noexcept override { next_.group_ends(worker); }

 private:
  index::CommitListener<std::string_view>& next_;
};

}  // namespace mxkv::server
