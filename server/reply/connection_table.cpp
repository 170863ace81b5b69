#include "server/reply/connection_table.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/base/assert.hpp"

namespace mxkv::server {

void ConnectionTable::await_disk(ConnectionState& entry) noexcept {
  if (entry.life.answers()) {
    entry.awaits_disk = true;
    mark_dirty(entry);
  }
}

void ConnectionTable::reply(const ReplyAddress& address, Seen seen, std::string_view text) {
  if (ReplyQueue* const replies = find(address, seen); replies != nullptr) {
    char* const to = replies->reserve(address.ticket, text.size());
    std::memcpy(to, text.data(), text.size());
    replies->commit(address.ticket, to + text.size());
    replies->close(address.ticket);
  }
}

char* ConnectionTable::early_room(const ReplyAddress& address, std::size_t most) {
  ReplyQueue* const replies = find(address, Seen::data(false));
  return replies == nullptr || waits_for_room(address) ? nullptr : replies->reserve(address.ticket, most);
}

void ConnectionTable::answer_early(const ReplyAddress& address, char* end) {
  address.connection->replies.close_whole(address.ticket, end);
  finished(address);
}

std::span<char> ConnectionTable::reserve_row(const ReplyAddress& first, Seen seen, std::size_t least) {
  ReplyQueue* const replies = find(first, seen);
  return replies == nullptr || waits_for_room(first) ? std::span<char>{}
                                                     : replies->reserve_all(first.ticket, least);
}

void ConnectionTable::close_row(const ReplyAddress& first, std::uint32_t requests, char* end) {
  ReplyQueue& replies = first.connection->replies;
  if (requests > 0) [[likely]] {
    replies.close_row(first.ticket, requests, end);
  } else {
    replies.commit(first.ticket, end);  // another writer continues this reply
  }
}

void ConnectionTable::finished_row(const ReplyAddress& first, std::uint32_t reads) {
  ConnectionState& entry = *first.connection;
  const bool freed = entry.order.finish_row(OrderClaim{first.claim}, reads);
  entry.ended += reads;
  if (entry.owner == nullptr || entry.wants_resume) [[unlikely]] {
    follow_end(entry, freed);
  }
}

void ConnectionTable::finished_row(const ReplyAddress& first, CommitSeq seq, std::uint32_t writes) {
  first.connection->commits.end_row(seq, writes);
  ReplyAddress address = first;
  if (const OrderClaim claim{first.claim}; claim.mark() != 0) [[unlikely]] {
    begun_->end(claim.mark(), writes);
    address.claim = claim.unmarked().stored();
  }
  finished_row(address, writes);
}

void ConnectionTable::finished_write(const ReplyAddress& address, CommitSeq seq) {
  ConnectionState& entry = *address.connection;
  // Before resume(): the parked write was sent before the requests that wait.
  if (runtime::MxTask* const parked = entry.commits.end(seq); parked != nullptr) {
    MXKV_ASSERT(spawner_ != nullptr, "writes wait for their turn where tasks can be spawned");
    spawner_->spawn(parked);
  }
  ended(entry, OrderClaim{address.claim});
}

void ConnectionTable::end_rarer(const ReplyAddress& address) {
  ended(*address.connection, OrderClaim{address.claim});
}

void ConnectionTable::follow_end(ConnectionState& entry, bool freed) {
  if (entry.owner == nullptr) {
    recycle(entry);
  } else if (entry.wants_resume && (freed || entry.order.in_flight() <= entry.resume_at)) {
    resume(entry);
  }
}

// An operation may end before its start returns, within the owner's resume(). Then resume() runs once more
// instead of recursively, so the stack stays flat for any length of pipeline.
void ConnectionTable::resume(ConnectionState& entry) {
  if (entry.resuming != resume_phase::outside) {
    entry.resuming = resume_phase::again;
    return;
  }
  do {
    entry.resuming = resume_phase::inside;
    entry.owner->resume();
  } while (entry.resuming == resume_phase::again && entry.wants_resume && entry.owner != nullptr);
  entry.resuming = resume_phase::outside;
  if (entry.owner == nullptr) {
    recycle(entry);
  }
}

ConnectionState& ConnectionTable::open(ConnectionOwner& owner) {
  if (free_.empty()) {
    entries_.push_back(std::make_unique<ConnectionState>(*output_, tables_));
    entries_.back()->index = static_cast<std::uint32_t>(entries_.size() - 1);
    free_.reserve(entries_.size());
    free_.push_back(entries_.back()->index);
  }
  ConnectionState& entry = *entries_[free_.back()];
  free_.pop_back();
  MXKV_ASSERT(entry.owner == nullptr, "a free entry is closed");
  MXKV_ASSERT(entry.replies.all_closed() && entry.order.in_flight() == 0, "a free entry owes nothing");
  entry.life.begin();
  entry.owner = &owner;
  entry.asked_ns = 0;
  entry.stuck = false;
  entry.by_peer = false;
  entry.takes_stale = false;
  entry.awaits_disk = false;
  return entry;
}

void ConnectionTable::close(ConnectionState& entry) noexcept {
  entry.life.end();
  entry.owner = nullptr;
  entry.wants_resume = false;
  entry.replies.clear();
  recycle(entry);
}

// The last user frees the entry: an operation, the dirty list, or the owner's resume().
void ConnectionTable::recycle(ConnectionState& entry) noexcept {
  if (entry.owner != nullptr || entry.order.in_flight() != 0 || entry.dirty ||
      entry.resuming != resume_phase::outside) {
    return;
  }
  MXKV_ASSERT(entry.life.is(life_stage::closed), "only a closed connection's entry is recycled");
  entry.order.begin_pass();
  ++entry.generation;
  free_.push_back(entry.index);
}

namespace {

/// The replies for whose memory a connection is to blame. A client that reads, and has few replies, will have none
/// soon.
std::size_t hoarded_bytes(const ConnectionState& entry) noexcept {
  const std::size_t bytes = entry.replies.copied_bytes() + (entry.stuck ? BlockPool::kBlockBytes : 0);
  return entry.life.answers() && bytes > BlockPool::kBlockBytes ? bytes : 0;
}

}  // namespace

// Called for each new block while too many are in use, while a reply is being written, maybe one of the chosen
// connection: so the connection is only marked.
void ConnectionTable::overflowed() noexcept {
  unpaid_ -= std::min(unpaid_, kWalkOfBlock);
  if (silenced_ != nullptr) {
    return;  // first the replies of the connection already chosen are freed
  }
  ConnectionState* hoarder = next_hoarder();
  if (hoarder == nullptr && unpaid_ == 0) {
    list_hoarders();
    hoarder = next_hoarder();
  }
  if (hoarder != nullptr) {
    hoarder->life.silence();
    silenced_ = hoarder;
    mark_dirty(*hoarder);
    unpaid_ -= std::min(unpaid_, entries_.size() / kMostListed + 1);
  }
}

/// Takes the next one of the list that has not sent any of its replies since the walk. Entries are never freed, and
/// a connection that has a silenced one's entry begins with nothing.
ConnectionState* ConnectionTable::next_hoarder() noexcept {
  while (listed_ > 0) {
    const Hoarder& next = hoarders_[--listed_];
    if (hoarded_bytes(*next.entry) >= next.bytes) {
      return next.entry;
    }
  }
  return nullptr;
}

void ConnectionTable::list_hoarders() noexcept {
  MXKV_ASSERT(listed_ == 0 && unpaid_ == 0,
              "a walk begins when the list of the last one is used up, and paid for");
  ++walks_;
  const auto fewer = [](const Hoarder& one, const Hoarder& other) { return one.bytes < other.bytes; };
  const auto more = [](const Hoarder& one, const Hoarder& other) { return one.bytes > other.bytes; };
  // A heap whose front has the fewest, so that it makes way.
  for (const std::unique_ptr<ConnectionState>& entry : entries_) {
    const Hoarder one{hoarded_bytes(*entry), entry.get()};
    if (one.bytes == 0 || (listed_ == kMostListed && one.bytes <= hoarders_.front().bytes)) {
      continue;
    }
    if (listed_ == kMostListed) {
      std::pop_heap(hoarders_.begin(), hoarders_.end(), more);
      --listed_;
    }
    hoarders_[listed_++] = one;
    std::push_heap(hoarders_.begin(), hoarders_.begin() + static_cast<std::ptrdiff_t>(listed_), more);
  }
  std::sort(hoarders_.begin(), hoarders_.begin() + static_cast<std::ptrdiff_t>(listed_), fewer);
  unpaid_ = entries_.size();
}

void ConnectionTable::drop_silenced() noexcept {
  if (ConnectionState& entry = *std::exchange(silenced_, nullptr); entry.life.is(life_stage::silenced)) {
    entry.replies.clear();
  }
}

ConnectionState* ConnectionTable::next_dirty() noexcept {
  while (dirty_ != nullptr) {
    ConnectionState& entry = *dirty_;
    MXKV_ASSERT(entry.dirty, "the list holds marked entries");
    dirty_ = entry.next_dirty;
    entry.dirty = false;
    if (entry.owner != nullptr) {
      return &entry;
    }
    recycle(entry);
  }
  return nullptr;
}

}  // namespace mxkv::server
