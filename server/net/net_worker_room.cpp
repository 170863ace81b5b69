// NetWorker's functions: what becomes of connections that hold too much of its shares of memory.
#include <string>
#include <utility>

#include "runtime/base/assert.hpp"
#include "runtime/scheduler/runtime.hpp"
#include "server/net/net_worker.hpp"

namespace mxkv::server {

// All of them: if there is room for one page only, the others come back.
void NetWorker::give_page_room() {
  for (ConnectionState* const entry : std::exchange(host_.starved, {})) {
    static_cast<Connection*>(entry->owner)->give_room();
  }
}

// In the order in which they came; those for which there is still no room wait again, behind.
bool NetWorker::give_value_room() {
  if (!std::exchange(host_.value_ended, false)) {
    return false;
  }
  for (ConnectionState* const entry : std::exchange(host_.value_waiters, {})) {
    static_cast<Connection*>(entry->owner)->give_room();
  }
  return true;
}

/// The connection of which `bytes` says the most; null: of all it says 0.
template <class Bytes>
Connection* NetWorker::holder_of_most(const Bytes& bytes) const {
  Connection* holder = nullptr;
  std::size_t most = 0;
  for (Connection* connection = connections_; connection != nullptr; connection = connection->next_) {
    if (const std::size_t has = bytes(*connection); has > most) {
      holder = connection;
      most = has;
    }
  }
  return holder;
}

bool NetWorker::relieve(ConnectionState& asking) {
  Connection* const holder = holder_of_most(
      [](const Connection& one) { return one.session_->running() ? 0 : one.session_->unfinished_bytes(); });
  const Connection& own = *static_cast<Connection*>(asking.owner);
  if (holder == nullptr || holder == &own ||
      holder->session_->unfinished_bytes() <= own.session_->unfinished_bytes()) {
    return false;
  }
  MXKV_ASSERT(holder->session_->unfinished_bytes() > 0, "the one that leaves makes room");
  holder->close_for_input();
  return true;
}

// Clients that hold much of what others need, and make no use of it, have to go: the one that holds most
// first.
void NetWorker::make_room() {
  const std::uint64_t now = now_ns();
  const MemoryShare& output = host_.directory.share();
  while (output.is_short() || (!host_.starved.empty() && !host_.has_page_room())) {
    Connection* const holder = holder_of_most([now](const Connection& one) {
      return one.takes_nothing(now) ? one.session_->entry().replies.copied_bytes() + 1 : 0;
    });
    if (holder == nullptr) {
      break;
    }
    holder->close_for_output();
  }
  const runtime::MemoryBudget& budget = host_.worker.runtime().budget();
  while (budget.category_bytes(runtime::memory_category::referenced) >
         budget.limit_bytes() / kReferencedParts) {
    Connection* const holder = holder_of_most([now](const Connection& one) {
      return one.takes_nothing(now) ? one.session_->entry().replies.referenced_bytes() : 0;
    });
    if (holder == nullptr) {
      break;
    }
    holder->close_for_output();
  }
  const MemoryShare& input = host_.input.share();
  while (input.is_short()) {
    // The beginnings of usual lines are many clients' and small; they go when there is nothing else to go.
    const std::size_t least = input.held() > 3 * input.bytes() ? 0 : BlockPool::kSmallBlockBytes;
    Connection* const holder = holder_of_most([now, least](const Connection& one) {
      const std::size_t bytes = one.unfinished_bytes();
      return one.sends_nothing(now) && bytes > least ? bytes : 0;
    });
    if (holder == nullptr) {
      break;
    }
    holder->close_for_input();
  }
  while (!host_.value_waiters.empty()) {
    Connection* const holder = holder_of_most(
        [now](const Connection& one) { return one.sends_nothing(now) ? one.session_->admitted_bytes() : 0; });
    if (holder == nullptr) {
      break;
    }
    holder->close_for_input();
  }
}

// At most once a second. Those of the last second are told when something else happens, which is soon.
void NetWorker::tell_of_closed() {
  constexpr std::uint64_t kTellClosedEveryNs = 1'000'000'000;
  const auto untold = [](const std::atomic<std::uint64_t>& closed, std::uint64_t told) {
    return closed.load(std::memory_order_relaxed) - told;
  };
  const std::uint64_t output = untold(counters_.output_full, told_output_full_);
  const std::uint64_t input = untold(counters_.input_full, told_input_full_);
  if (output + input == 0 || now_ns() < next_tell_ns_) [[likely]] {
    return;
  }
  next_tell_ns_ = now_ns() + kTellClosedEveryNs;
  told_output_full_ += output;
  told_input_full_ += input;
  shared_.log.warn("out of memory for connections: closed " + std::to_string(output) +
                   " that did not read their replies, " + std::to_string(input) +
                   " that did not finish their requests");
}

void NetWorker::refused_input() {
  NetCounters::add(counters_.input_full);
}

}  // namespace mxkv::server
