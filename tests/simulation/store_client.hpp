// A client of a simulated store: an entry of its worker's ReplyDirectory, without a session. It starts
// requests at the store as a session does: several at once where the order fence lets them, writes with their
// place in the order of commits; and reads the replies, which come in the order of the requests.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "server/reply/worker_replies.hpp"
#include "server/store/store.hpp"
#include "tests/simulation/stepper.hpp"
#include "tests/simulation/store_history.hpp"
#include "tests/simulation/store_replies.hpp"

namespace mxkv::simulation {

/// Notes when what was asked and answered. Thread-safety: one thread.
class StoreRecord {
 public:
  StoreRecord(StoreHistory& history, const Stepper& stepper, const runtime::ManualClock& clock)
      : history_(history), stepper_(stepper), clock_(clock) {}

  void invoked(Operation& op) {
    op.invoked = ++ticks_;
    op.from_us = stepper_.earliest_now_us();
  }
  /// From now on some batches that were done are said to have failed: a mistake made on purpose.
  void lie() noexcept { lies_ = true; }
  /// Its reply was read.
  void responded(Operation op) {
    op.responded = ++ticks_;
    if (lies_ && op.what == operation::batch && op.end == ending::done && ticks_ % 4 == 0) {
      op.end = ending::no_memory;
    }
    op.until_us = clock_.unix_us();
    history_.add(std::move(op));
  }
  /// Nobody will know.
  void cut_off(Operation op) {
    op.end = ending::unknown;
    history_.add(std::move(op));
  }

 private:
  StoreHistory& history_;
  const Stepper& stepper_;
  const runtime::ManualClock& clock_;
  std::uint64_t ticks_ = 0;
  bool lies_ = false;
};

/// Thread-safety: owner worker only.
class StoreClient {
 public:
  StoreClient(runtime::Worker& worker, server::Store& store, server::ReplyDirectory& directory,
              StoreReplies& replies, StoreRecord& record);

  /// Starts a request, or keeps it until the order fence lets it.
  void send(StoreRequest request);
  /// Tries again what waits.
  void go_on();
  /// Reads what was answered.
  void receive();
  /// Goes away, and comes back as another.
  void reconnect();
  void leave();
  /// The entries that it ever had; others may have had them, too.
  [[nodiscard]] const std::vector<server::ReplyEntry*>& entries() const noexcept { return entries_; }

  [[nodiscard]] std::size_t in_flight() const noexcept { return sent_.size() + (waiting_ ? 1 : 0); }
  [[nodiscard]] bool waits() const noexcept { return waiting_.has_value(); }

 private:
  [[nodiscard]] bool start(StoreRequest& request);
  [[nodiscard]] server::ReplyAddress address(server::FenceClaim claim);
  [[nodiscard]] std::optional<server::ItemBuilder> receive_value(const protocol::Request& request,
                                                                 std::string_view rest);
  [[nodiscard]] std::unique_ptr<server::Batch> receive_batch(const protocol::Request& request,
                                                             std::string_view rest);

  runtime::Worker& worker_;
  server::Store& store_;
  server::ReplyDirectory& directory_;
  StoreReplies& replies_;
  StoreRecord& record_;
  server::ReplyEntry* entry_;
  std::vector<server::ReplyEntry*> entries_;
  std::deque<StoreRequest> sent_;        ///< in order, unanswered
  std::optional<StoreRequest> waiting_;  ///< at the fence
  std::string received_;
};

}  // namespace mxkv::simulation
