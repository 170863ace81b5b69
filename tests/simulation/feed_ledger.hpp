// Notes every change that passes a simulated store's commit point, with the label that it has, and passes it on to
// the log. The judge compares the lines of watches with these notes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "server/feed/key_span.hpp"
#include "server/feed/memory_log.hpp"
#include "server/feed/watch_form.hpp"
#include "server/store/store.hpp"

namespace mxkv::simulation {

/// A change that watches may get.
struct FeedEvent {
  std::uint64_t label = 0;
  std::uint64_t order = 0;
  std::uint64_t cas = 0;    ///< put: the item's unique
  std::uint32_t batch = 0;  ///< 0: none
  std::uint8_t kind = 0;    ///< a bit of server::told
  std::string key{};        ///< empty: of a range
  server::KeySpan span{};   ///< of a range
};

/// Thread-safety: one thread.
class FeedLedger final : public index::CommitListener<std::string_view> {
 public:
  /// Listens from now on. While no worker runs; outlives the workers' operations.
  explicit FeedLedger(server::Store& store) { store.tree().commits().listen(this); }

  /// The log that gives labels, once it is there.
  void set_log(const server::MemoryLog& log) noexcept { log_ = &log; }
  /// The point at which that log listens.
  [[nodiscard]] index::CommitPoint<std::string_view>& relay() noexcept { return relay_; }
  [[nodiscard]] const std::vector<FeedEvent>& events() const noexcept { return events_; }
  [[nodiscard]] std::uint64_t last_label() const noexcept {
    return events_.empty() ? 0 : events_.back().label;
  }
  [[nodiscard]] std::uint32_t batches() const noexcept { return batches_; }

  void passed(const index::Commit<std::string_view>& commit, runtime::Worker& worker) noexcept override;
  void group_begins(runtime::Worker& worker) noexcept override;
  void group_ends(runtime::Worker& worker) noexcept override;

 private:
  [[nodiscard]] static FeedEvent event_of(const index::Commit<std::string_view>& commit);

  const server::MemoryLog* log_ = nullptr;
  index::CommitPoint<std::string_view> relay_;
  std::unique_ptr<index::CommitGroup<std::string_view>> group_;
  std::uint32_t batches_ = 0;
  std::uint64_t group_label_ = 0;
  std::vector<FeedEvent> events_;
};

}  // namespace mxkv::simulation
