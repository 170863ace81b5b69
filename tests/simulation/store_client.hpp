// A client of a simulated store: an entry of its worker's ConnectionTable, without a session. It starts
// requests at the store as a session does: several at once where their order lets them, writes with their
// place in the order of commits; and reads the replies, which come in the order of the requests.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "server/commit/commit_gate.hpp"
#include "server/reply/held_output.hpp"
#include "server/reply/worker_replies.hpp"
#include "server/store/store.hpp"
#include "tests/simulation/stepper.hpp"
#include "tests/simulation/store_history.hpp"
#include "tests/simulation/store_replies.hpp"

namespace mxkv::simulation {

/// Notes when requests were sent and answered. Thread-safety: one thread.
class StoreRecord {
 public:
  StoreRecord(StoreHistory& history, const Stepper& stepper, const runtime::ManualClock& clock)
      : history_(history), stepper_(stepper), clock_(clock) {}

  [[nodiscard]] std::uint64_t new_session() noexcept { return ++sessions_; }
  /// Operations that ended.
  [[nodiscard]] std::uint64_t ended() const noexcept { return ended_; }
  /// Requests without an answer may have failed for want of memory.
  void expect_failures() noexcept { may_fail_ = true; }

  void invoked(Operation& op) {
    op.may_fail = may_fail_;
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
    ++ended_;
    history_.add(std::move(op));
  }
  /// It has ended, and no reply said how.
  void ended_unheard(Operation op) {
    op.end = ending::unknown;
    op.responded = ++ticks_;
    op.until_us = clock_.unix_us();
    ++ended_;
    history_.add(std::move(op));
  }
  /// A request that is not recorded ended.
  void ended_unrecorded() noexcept { ++ended_; }
  /// Its result will never be known.
  void cut_off(Operation op) {
    op.end = ending::unknown;
    history_.add(std::move(op));
  }

 private:
  StoreHistory& history_;
  const Stepper& stepper_;
  const runtime::ManualClock& clock_;
  std::uint64_t ticks_ = 0;
  std::uint64_t sessions_ = 0;
  std::uint64_t ended_ = 0;
  bool lies_ = false;
  bool may_fail_ = false;
};

/// Thread-safety: owner worker only.
class StoreClient final : public server::ConnectionOwner {
 public:
  StoreClient(runtime::Worker& worker, server::Store& store, server::ConnectionTable& directory,
              StoreReplies& replies, StoreRecord& record);
  void resume() override {}  // it asks again in each turn

  /// Starts a request, or keeps it until their order lets it.
  void send(StoreRequest request);
  /// Sends these, one after the other, as soon as it may; the next pages of a range before.
  void plan(std::vector<StoreRequest> requests);
  /// Sends more of the planned requests; at most `in_flight` are in flight.
  bool send_planned(std::size_t in_flight);
  [[nodiscard]] bool has_plans() const noexcept { return !planned_.empty(); }
  /// Tries the waiting request again.
  void go_on();
  /// Reads the replies.
  void receive();
  /// From now on it reads the output that a connection would send, as server/net has it: replies whose epoch
  /// is on disk.
  void set_disk(const server::CommitGate& disk) noexcept { disk_ = &disk; }
  /// Whether some output waits for the disk.
  [[nodiscard]] bool held() const noexcept { return held_.holds(); }
  /// The greatest epoch that a reply waited for and that was read since.
  [[nodiscard]] std::uint64_t released() const noexcept { return released_; }
  /// Goes away, and comes back as another.
  void reconnect();
  void leave();
  /// The entries that it ever had; others may have had them, too.
  [[nodiscard]] const std::vector<server::ConnectionState*>& entries() const noexcept { return entries_; }

  [[nodiscard]] std::size_t in_flight() const noexcept {
    return sent_.size() + unheard_.size() + (waiting_ ? 1 : 0);
  }
  [[nodiscard]] bool waits() const noexcept { return waiting_.has_value(); }
  /// The request that it has waited for longest, for a failure's message.
  [[nodiscard]] std::string first_in_flight() const;

 private:
  void begin(StoreRequest request);
  [[nodiscard]] bool start(StoreRequest& request);
  void add_get(const protocol::Request& request, std::string_view key, server::OrderClaim claim);
  void start_gets();
  [[nodiscard]] bool add_set(const protocol::Request& request, std::string_view rest,
                             server::OrderClaim claim);
  void start_sets();
  /// Starts the gets and sets that are to start together: one of both lists has some.
  void start_together() {
    start_gets();
    start_sets();
  }
  void start_received(const protocol::Request& request, std::string_view rest,
                      const server::ReplyAddress& to);
  void start_point(const protocol::PointRequest& request, server::ItemBuilder* value,
                   const server::ReplyAddress& to);
  [[nodiscard]] std::size_t sendable();
  void read_replies();
  void heard(StoreRequest request);
  void unheard(StoreRequest& request);
  void unheard_ended(const Operation& later);
  void all_unheard_ended();
  [[nodiscard]] server::ReplyAddress address(server::OrderClaim claim);
  [[nodiscard]] std::optional<server::ItemBuilder> receive_value(const protocol::Request& request,
                                                                 std::string_view rest);
  [[nodiscard]] std::unique_ptr<server::Batch> receive_batch(const protocol::Request& request,
                                                             std::string_view rest);

  runtime::Worker& worker_;
  server::Store& store_;
  server::ConnectionTable& directory_;
  StoreReplies& replies_;
  StoreRecord& record_;
  server::ConnectionState* entry_;
  std::vector<server::ConnectionState*> entries_;
  std::deque<StoreRequest> sent_;        ///< in order, unanswered
  std::vector<Operation> unheard_;       ///< started, and no reply will come
  std::optional<StoreRequest> waiting_;  ///< behind others
  std::deque<StoreRequest> planned_;
  std::vector<protocol::AskedKey> gets_;  ///< of the last of `sent_`, not started yet
  server::ReplyAddress first_;            ///< of the first of these
  bool with_cas_ = false;
  std::vector<protocol::SentValue> sets_;  ///< as gets_
  server::ReplyAddress first_set_;         ///< of the first of these
  std::uint64_t session_;
  std::uint64_t started_ = 0;  ///< in this session
  std::string received_;
  const server::CommitGate* disk_ = nullptr;
  server::HeldOutput held_;
  std::uint64_t released_ = 0;
};

}  // namespace mxkv::simulation
