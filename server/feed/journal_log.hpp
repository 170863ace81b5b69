// The log of a server with a directory, as the herald needs it: the journal, which is always kept. Its writer closes
// epochs, and JournalTail reads them.
//
// While nobody watches, the writer loads one word a group, and nobody reads the journal.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "server/commit/commit_epochs.hpp"
#include "server/durability/manifest.hpp"
#include "server/feed/feed_switch.hpp"
#include "server/feed/journal_tail.hpp"

namespace mxkv::server {

struct JournalLogHooks {
  /// Asks the journal's writer to close and write this epoch now, in any mode. Any thread.
  std::function<void(std::uint64_t epoch)> need;
  /// Whether this process's tag is on disk. Before that no watch begins: the next process would not know its position.
  std::function<bool()> tag_is_kept;
  std::function<void()> wake = [] {};  ///< the herald has to call step(); the writer's thread
};

/// Thread-safety: given per function.
class JournalLog final : public FeedSwitch {
 public:
  /// `epochs` is the journal's, and outlives this.
  JournalLog(const CommitEpochs& epochs, JournalLogHooks hooks);

  /// The last durable epoch may have changed. The writer's thread.
  void changed();

  // -- the herald's thread

  void want(bool wanted) override;
  [[nodiscard]] bool is_on() const noexcept override { return tag_is_kept_ && wanted(); }
  [[nodiscard]] bool step(std::uint64_t now_ns) override;
  [[nodiscard]] std::uint64_t next_step_ns() const noexcept override { return kNever; }

  // -- any thread

  [[nodiscard]] std::uint64_t need_recorded() noexcept override;

 private:
  [[nodiscard]] bool wanted() const noexcept { return wanted_.load(std::memory_order_relaxed); }

  const CommitEpochs& epochs_;
  const JournalLogHooks hooks_;
  bool tag_is_kept_ = false;         ///< the herald's
  std::atomic<bool> wanted_{false};  // relaxed, ordered by the fences of want() and changed()
};

/// What a reader of the journal has to know of it. `manifest` is the one that this process serves with.
[[nodiscard]] TailOptions tail_options(const Manifest& manifest, const CommitEpochs& epochs);

}  // namespace mxkv::server
