// Notes every change that passes a simulated store's commit point, with the label that it has, and passes it on to
// the log. The judge compares the lines of watches with these notes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "server/commit/commit_epochs.hpp"
#include "server/feed/key_span.hpp"
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
  /// The epochs of the log, which are labels; null: there is no log, and nothing is noted.
  void set_epochs(const server::CommitEpochs* epochs) noexcept { epochs_ = epochs; }
  /// Forgets the changes of all later epochs.
  void forget_behind(std::uint64_t epoch) {
    std::erase_if(events_, [epoch](const FeedEvent& event) { return event.label > epoch; });
  }
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

  const server::CommitEpochs* epochs_ = nullptr;
  index::CommitPoint<std::string_view> relay_;
  std::unique_ptr<index::CommitGroup<std::string_view>> group_;
  std::uint32_t batches_ = 0;
  std::uint64_t group_label_ = 0;
  std::vector<FeedEvent> events_;
};

}  // namespace mxkv::simulation
