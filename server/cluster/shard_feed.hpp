// What of the store's changes goes to the logs: all but those that came from a log.
//
// It stands between the commit point and the journal of the store. A follower's tree changes as its owner's log
// says; were these changes told again, they would come back for ever.
#pragma once

#include <string_view>

#include "index/commit_point.hpp"
#include "runtime/scheduler/worker.hpp"
#include "server/store/worker_context.hpp"

namespace mxkv::server {

/// Whether what passes the commit point on this worker now is a change that ShardMemory makes. On the worker.
[[nodiscard]] inline bool applies(runtime::Worker& worker) noexcept {
  return worker.local<WorkerContext>().applies;
}

/// Thread-safety: as CommitListener.
class ShardFeed final : public index::CommitListener<std::string_view> {
 public:
  /// `next` is told what clients do; it outlives this.
  explicit ShardFeed(index::CommitListener<std::string_view>& next) noexcept : next_(next) {}

  void passed(const index::Commit<std::string_view>& commit, runtime::Worker& worker) noexcept override {
    if (!applies(worker)) [[likely]] {
      next_.passed(commit, worker);
    }
  }
  // Nothing that is applied is part of a group.
  void group_begins(runtime::Worker& worker) noexcept override { next_.group_begins(worker); }
  void group_ends(runtime::Worker& worker) noexcept override { next_.group_ends(worker); }

 private:
  index::CommitListener<std::string_view>& next_;
};

}  // namespace mxkv::server
