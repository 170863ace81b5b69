#include "server/feed/journal_log.hpp"

#include <utility>

namespace mxkv::server {

JournalLog::JournalLog(const CommitEpochs& epochs, JournalLogHooks hooks)
    : epochs_(epochs), hooks_(std::move(hooks)) {}

// The writer published an epoch before, and the herald loads the last durable epoch after want(). With both fences the
// writer sees that the epoch is wanted, or the herald sees the epoch.
void JournalLog::changed() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (wanted()) {
    hooks_.wake();
  }
}

void JournalLog::want(bool wanted_now) {
  if (wanted() != wanted_now) {
    wanted_.store(wanted_now, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
}

bool JournalLog::step(std::uint64_t /*now_ns*/) {
  tag_is_kept_ = tag_is_kept_ || (wanted() && hooks_.tag_is_kept());
  return false;
}

std::uint64_t JournalLog::need_recorded() noexcept {
  const std::uint64_t epoch = epochs_.last_recorded();
  if (epoch > epochs_.durable()) {
    hooks_.need(epoch);
  }
  return epoch;
}

TailOptions tail_options(const Manifest& manifest, const CommitEpochs& epochs) {
  return {.folder = kJournalDirectory,
          .directory = manifest.directory,
          .lineage = manifest.lineage,
          .durable = [&epochs] { return epochs.durable(); },
          .closed = [&epochs] { return epochs.current() - 1; }};
}

}  // namespace mxkv::server
