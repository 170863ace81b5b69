// NetWorker's functions for connections that hold too much of its shares of memory.
#include <malloc.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/assert.hpp"
#include "runtime/scheduler/runtime.hpp"
#include "server/net/tls/tls_stream.hpp"
#include "server/net/worker/net_worker.hpp"

namespace mxkv::server {

// Wakes waiting sessions in their order, only as many as there is room for: a session that is woken takes the room
// of its page at once. Waking costs as much as a request.
void NetWorker::give_page_room() {
  for (std::size_t left = host_.starved.size(); left > 0 && host_.has_page_room(); --left) {
    ConnectionState* const entry = host_.starved.front();
    host_.starved.pop_front();
    static_cast<Connection*>(entry->owner)->go_on().give_room();
  }
}

// Admits as many waiters as there is room for, in the room's order. If there is none, closes holders that
// stall.
bool NetWorker::admit(Admission& admission, std::uint64_t room) {
  if (!admission.due(now_ns())) {
    return false;
  }
  bool any = false;
  std::optional<std::vector<Connection*>> stalled;
  for (std::size_t left = admission.waiting(); left > 0; --left) {
    const std::optional<Admission::Waiter> next = admission.next(now_ns());
    if (!next) {
      break;
    }
    while (!admission.admits(next->bytes, room)) {
      if (!stalled) {
        stalled.emplace();
        admission.for_each_holder([&](ConnectionOwner& owner) {
          if (auto& holder = static_cast<Connection&>(owner); holder.stalls(now_ns())) {
            stalled->push_back(&holder);
          }
        });
      }
      if (stalled->empty()) {
        return any;
      }
      stalled->back()->close_for_input();
      stalled->pop_back();
    }
    admission.forget(*next->owner);
    static_cast<Connection*>(next->owner)->admitted();
    any = true;
  }
  return any;
}

/// The connections for which `bytes` is more than 0, those with the most bytes first. Looks at all connections.
template <class Bytes>
std::vector<std::pair<std::size_t, Connection*>> NetWorker::holders(const Bytes& bytes) {
  ++walks_;
  std::vector<std::pair<std::size_t, Connection*>> found;
  for (Connection* connection = connections_; connection != nullptr; connection = connection->links.next) {
    if (const std::size_t has = bytes(*connection); has > 0) {
      found.emplace_back(has, connection);
    }
  }
  std::ranges::sort(found, std::greater{}, &std::pair<std::size_t, Connection*>::first);
  return found;
}

// A read that finds no room may come here. So a walk over all connections is paid for: since the last one, all
// that it found were closed, or this worker has read kReadOfWalk bytes for each connection, or time has passed.
bool NetWorker::relieve(ConnectionState& asking, bool stalled) {
  constexpr std::uint64_t kReadOfWalk = 64;
  const Connection& own = *static_cast<Connection*>(asking.owner);
  const std::size_t own_bytes = own.session().unfinished_bytes();
  const auto next = [&]() -> Connection* {
    std::vector<std::pair<std::size_t, Connection*>> others;  // for a session that holds less, or takes any
    Connection* found = nullptr;
    while (const auto first = most_input_.take()) {
      Connection& holder = *first->second;
      const bool holds_more =
          &holder != &own && !holder.session().running() && holder.session().unfinished_bytes() > own_bytes;
      if (holds_more && (!stalled || holder.stalls(now_ns()))) {
        found = &holder;
        break;
      }
      if (holds_more || first->first <= own_bytes) {
        others.push_back(*first);
      }
      if (first->first <= own_bytes) {
        break;
      }
    }
    for (; !others.empty(); others.pop_back()) {
      most_input_.put_back(others.back());
    }
    return found;
  };
  Connection* holder = next();
  const std::uint64_t read = counters_.read_bytes.load(std::memory_order_relaxed);
  if (holder == nullptr && (most_input_.used_up() || now_ns() >= next_input_look_ns_ ||
                            read - read_at_walk_ >= kReadOfWalk * load_.load(std::memory_order_relaxed))) {
    next_input_look_ns_ = now_ns() + Admission::kLookEveryNs;
    read_at_walk_ = read;
    most_input_.fill(holders([](const Connection& one) {
      return one.session().running() ? std::size_t{0} : one.session().unfinished_bytes();
    }));
    holder = next();
  }
  if (holder == nullptr) {
    return false;
  }
  MXKV_ASSERT(holder->session().unfinished_bytes() > 0, "the one that leaves makes room");
  holder->close_for_input();
  return true;
}

// Closes clients that hold much memory that others need, and make no use of it: those that hold most first.
// Looks at all connections once for each share that is short. Only the timer calls it, 100 times a second at most.
void NetWorker::make_room() {
  const std::uint64_t now = now_ns();
  const MemoryShare& output = host_.directory.share();
  const auto replies_short = [&] {
    return output.is_short() || (!host_.starved.empty() && !host_.has_page_room());
  };
  if (replies_short()) {
    for (const auto& [bytes, holder] : holders([now](const Connection& one) {
           return one.takes_nothing(now) ? one.session().entry().replies.copied_bytes() + 1 : 0;
         })) {
      if (!replies_short()) {
        break;
      }
      holder->close_for_output();
    }
  }
  const runtime::MemoryBudget& budget = host_.worker.runtime().budget();
  const auto referenced_short = [&budget] {
    return budget.category_bytes(runtime::memory_category::referenced) >
           budget.limit_bytes() / kReferencedParts;
  };
  if (referenced_short()) {
    for (const auto& [bytes, holder] : holders([now](const Connection& one) {
           return one.takes_nothing(now) ? one.session().entry().replies.referenced_bytes() : 0;
         })) {
      if (!referenced_short()) {
        break;
      }
      holder->close_for_output();
    }
  }
  const MemoryShare& input = host_.input.share();
  if (input.is_short()) {
    for (const auto& [bytes, holder] : holders(
             [now](const Connection& one) { return one.sends_nothing(now) ? one.unfinished_bytes() : 0; })) {
      // The beginnings of usual lines are small and belong to many clients, so they go last.
      const std::size_t least = input.held() > 3 * input.bytes() ? 0 : BlockPool::kSmallBlockBytes;
      if (!input.is_short() || bytes <= least) {
        break;
      }
      holder->close_for_input();
    }
  }
}

// The system's heap keeps the memory that OpenSSL frees, between blocks that are in use. One worker at a time
// trims the heap, when it has nothing else to do: that takes about a millisecond for each MiB that is given
// back. If only few connections have left and others are open, the next connections reuse the memory.
std::uint64_t NetWorker::trim_system_memory() {
  constexpr std::size_t kTrimAfterTls = 64;  // of 14.5 KiB: less than 1 MiB stays
  constexpr std::uint64_t kEveryNs = 10'000'000'000;
  if (tls_left_ < kTrimAfterTls && shared_.connections.by_tls.load(std::memory_order_relaxed) > 0) {
    return kForever;
  }
  const std::uint64_t now = now_ns();
  std::uint64_t trimmed = shared_.trimmed_ns.load(std::memory_order_relaxed);
  if (const std::uint64_t due = trimmed + kEveryNs;
      now < due) {  // another worker's time may be ahead of `now`
    return due - now;
  }
  if (!shared_.trimmed_ns.compare_exchange_strong(trimmed, now, std::memory_order_relaxed)) {
    return kEveryNs;  // another worker trims the heap now
  }
  tls_left_ = 0;
  ::malloc_trim(0);
  return kForever;
}

// At most once a second. Connections closed within the last second are reported with the next event, which
// comes soon.
void NetWorker::tell_of_closed() {
  constexpr std::uint64_t kTellClosedEveryNs = 1'000'000'000;
  const auto untold = [](const std::atomic<std::uint64_t>& closed, std::uint64_t told) {
    return closed.load(std::memory_order_relaxed) - told;
  };
  const std::uint64_t output = untold(counters_.output_full, told_.output_full);
  const std::uint64_t input = untold(counters_.input_full, told_.input_full);
  if (output + input == 0 || now_ns() < told_.next_ns) [[likely]] {
    return;
  }
  told_.next_ns = now_ns() + kTellClosedEveryNs;
  told_.output_full += output;
  told_.input_full += input;
  shared_.log.warn("out of memory for connections: closed " + std::to_string(output) +
                   " that did not read their replies, " + std::to_string(input) +
                   " that did not finish their requests");
}

}  // namespace mxkv::server
