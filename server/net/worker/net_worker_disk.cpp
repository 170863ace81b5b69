// NetWorker's functions for rounds as the journal sees them, and for connections that wait for the disk.
#include <algorithm>
#include <atomic>
#include <iterator>
#include <utility>
#include <vector>

#include "runtime/base/assert.hpp"
#include "server/net/worker/net_worker.hpp"

namespace mxkv::server {

// Asks once for the state that holds in this round, before any task runs.
void NetWorker::begin_disk_round() {
  runtime::Worker& worker = host_.worker;
  disk_.parked = false;
  const CommitGate::Round round = disk()->begin_round(worker.id(), worker.now_us());
  WorkerContext& context = store_.context(worker.id());
  context.mint_us = round.mint_us;
  // A flush set after the horizon acts on items that are older, and these do not show that the flush is new.
  const bool flushed_since = store_.flush_points().order.load(std::memory_order_relaxed) > round.horizon_us;
  context.horizon_us = flushed_since ? 0 : round.horizon_us;
  context.refuse_changes(disk()->refusal());
  if (const std::uint64_t broken = disk()->broken(); broken != disk_.broken) [[unlikely]] {
    disk_.broken = broken;
    close_held();
  }
  if (const CommitGate::Drops drops = disk()->drops(); drops != disk_.drops) [[unlikely]] {
    close_under_way(drops.all == disk_.drops.all);
    disk_.drops = drops;
  }
  if (const std::uint64_t durable = disk()->durable(); durable != disk_.durable) {
    disk_.durable = durable;
    std::erase_if(held_, [durable](Connection* connection) {
      connection->reached_disk(durable);
      return !connection->holds_output();
    });
  }
  reads_paused_ = disk()->reads_paused();
  if (!reads_paused_ && !journal_waiters_.empty()) [[unlikely]] {
    for (Connection* const connection : std::exchange(journal_waiters_, {})) {
      connection->go_on().journal_has_room();
    }
  }
  if (told_waits_ && now_ns() >= disk_.next_late_ns) [[unlikely]] {
    disk_.next_late_ns = now_ns() + kLateLookNs;
    give_up_late();
  }
  note_waits();
}

// Every wait has an end, whatever happens to the disk or to the brokers.
void NetWorker::give_up_late() {
  const std::uint64_t most_ns = disk()->most_wait_ns();
  if (most_ns == 0) {
    return;
  }
  std::vector<Connection*> late;
  std::ranges::copy_if(held_, std::back_inserter(late), [&](const Connection* connection) {
    return now_ns() - connection->waits_since_ns() >= most_ns;
  });
  std::ranges::copy_if(journal_waiters_, std::back_inserter(late), [&](const Connection* connection) {
    return !connection->holds_output() && now_ns() - connection->waits_since_ns() >= most_ns;
  });
  for (Connection* const connection : late) {
    connection->give_up_waiting();
  }
}

// Sessions may have begun requests since the round's end. And the news for which the worker waits may have
// been published before the worker said that it waits. So it asks once more behind a fence, which pairs with
// the fence of the publisher.
bool NetWorker::may_park() {
  if (told_waits_) {
    const CommitGate& gate = *disk();
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (gate.durable() != disk_.durable || gate.broken() != disk_.broken ||
        gate.reads_paused() != reads_paused_) {
      return false;
    }
  }
  park();
  return true;
}

void NetWorker::park() noexcept {
  if (!std::exchange(disk_.parked, true)) {
    disk()->end_round(host_.worker.id());
    disk()->park(host_.worker.id());
  }
}

// Nobody will ever know whether these replies' records are on disk, so the replies are not sent.
void NetWorker::close_held() {
  for (Connection* const connection : std::exchange(held_, {})) {
    connection->give_up_waiting();
  }
}

// A shard's memory is dropped next, and maybe loaded again from an older snapshot. A read that was let in before, and
// looks after that, would show it. Which shards a connection's requests read is not known, so all are closed.
void NetWorker::close_under_way(bool only_stale_readers) {
  std::vector<Connection*> concerned;
  for (Connection* connection = connections_; connection != nullptr; connection = connection->links.next) {
    if (!connection->closed() && connection->is_under_way() &&
        (!only_stale_readers || connection->takes_stale())) {
      concerned.push_back(connection);
    }
  }
  for (Connection* const connection : concerned) {
    connection->give_up_waiting();
  }
}

}  // namespace mxkv::server
