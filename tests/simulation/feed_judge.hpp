// Judges one simulated watch. Between two marks it must get exactly the changes of its range whose labels lie between
// the marks: the changes of each key in their order, the lines of a batch together.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "server/feed/watch_form.hpp"
#include "tests/simulation/complaints.hpp"
#include "tests/simulation/feed_ledger.hpp"

namespace mxkv::simulation {

/// Thread-safety: one thread.
class FeedJudge {
 public:
  FeedJudge(const FeedLedger& ledger, Complaints& complaints) : ledger_(ledger), complaints_(complaints) {}

  /// A watch of this form begins behind the epoch.
  void begin(server::WatchForm form, std::uint64_t behind);
  /// It got these lines.
  void lines(std::string_view text);
  /// It has all changes up to this epoch.
  void mark(std::uint64_t epoch);

  [[nodiscard]] std::uint64_t marked() const noexcept { return marked_; }
  [[nodiscard]] std::uint64_t told() const noexcept { return told_; }
  [[nodiscard]] std::uint64_t batches() const noexcept { return whole_batches_; }
  [[nodiscard]] std::uint64_t ranges() const noexcept { return ranges_; }

 private:
  void line(std::string_view text);
  void compare(std::vector<FeedEvent> wanted);
  [[nodiscard]] static std::string history_of(const std::string& key, const std::vector<FeedEvent>& events);
  [[nodiscard]] static std::vector<std::string> batches_of(const std::vector<FeedEvent>& events);

  const FeedLedger& ledger_;
  Complaints& complaints_;
  server::WatchForm form_;
  std::uint64_t marked_ = 0;
  std::vector<FeedEvent> since_;  ///< told since the last mark
  std::uint32_t batch_ = 0;
  std::size_t of_batch_ = 0;  ///< lines of the batch that are to come
  std::uint64_t told_ = 0;
  std::uint64_t whole_batches_ = 0;
  std::uint64_t ranges_ = 0;
};

}  // namespace mxkv::simulation
