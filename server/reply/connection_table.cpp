#include "server/reply/connection_table.hpp"

#include <algorithm>
#include <cstring>

#include "runtime/base/assert.hpp"

namespace mxkv::server {

void ConnectionTable::reply(const ReplyAddress& address, std::string_view text) {
  if (ReplyQueue* const replies = find(address); replies != nullptr) {
    char* const to = replies->reserve(address.ticket, text.size());
    std::memcpy(to, text.data(), text.size());
    replies->commit(address.ticket, to + text.size());
    replies->close(address.ticket);
  }
}

void ConnectionTable::finished_write(const ReplyAddress& address, CommitSeq seq) {
  ConnectionState& entry = *entries_[address.connection];
  // Before resume(): the parked write was sent before those that wait.
  if (runtime::MxTask* const parked = entry.commits.end(seq); parked != nullptr) {
    hooks_.spawn(hooks_.spawner, parked);
  }
  ended(entry, FenceClaim{address.fence});
}

void ConnectionTable::follow_end(ConnectionState& entry, bool freed) {
  if (entry.session == nullptr) {
    recycle(entry);
  } else if (entry.wants_resume && (freed || entry.fence.in_flight() <= entry.resume_at)) {
    resume(entry);
  }
}

// An operation may end before its start returns, inside the hook: then the hook runs once more instead of
// inside itself, so that the stack stays flat however long the pipeline is.
void ConnectionTable::resume(ConnectionState& entry) {
  if (entry.resuming) {
    entry.resume_again = true;
    return;
  }
  entry.resuming = true;
  do {
    entry.resume_again = false;
    hooks_.resume(entry.session);
  } while (entry.resume_again && entry.wants_resume && entry.session != nullptr);
  entry.resuming = false;
  if (entry.session == nullptr) {
    recycle(entry);
  }
}

ConnectionState& ConnectionTable::open(void* session) {
  if (free_.empty()) {
    entries_.push_back(std::make_unique<ConnectionState>(*output_, tables_));
    entries_.back()->index = static_cast<std::uint32_t>(entries_.size() - 1);
    free_.reserve(entries_.size());
    free_.push_back(entries_.back()->index);
  }
  ConnectionState& entry = *entries_[free_.back()];
  free_.pop_back();
  entry.session = session;
  entry.deaf = false;
  entry.stuck = false;
  entry.silenced = false;
  return entry;
}

void ConnectionTable::close(ConnectionState& entry) noexcept {
  MXKV_ASSERT(entry.session != nullptr, "a connection is closed once");
  entry.session = nullptr;
  entry.deaf = true;
  entry.wants_resume = false;
  entry.replies.clear();
  recycle(entry);
}

// The last user gives the entry back: an operation, the dirty list, or the hook.
void ConnectionTable::recycle(ConnectionState& entry) noexcept {
  if (entry.session != nullptr || entry.fence.in_flight() != 0 || entry.dirty || entry.resuming) {
    return;
  }
  entry.fence.begin_pass();
  ++entry.generation;
  free_.push_back(entry.index);
}

// Called in the middle of a reply, maybe of the chosen connection's: so it is only marked.
void ConnectionTable::silence() noexcept {
  if (drops_) {
    return;  // first what goes already
  }
  ConnectionState* most = nullptr;
  std::size_t most_bytes = 0;
  for (const std::unique_ptr<ConnectionState>& entry : entries_) {
    // A client that reads and has few will have none soon.
    const std::size_t bytes = entry->replies.copied_bytes() + (entry->stuck ? BlockPool::kBlockBytes : 0);
    if (!entry->deaf && bytes > std::max(most_bytes, BlockPool::kBlockBytes)) {
      most = entry.get();
      most_bytes = bytes;
    }
  }
  if (most != nullptr) {
    most->deaf = most->silenced = true;
    drops_ = true;
    mark_dirty(*most);
  }
}

void ConnectionTable::drop_silenced() noexcept {
  drops_ = false;
  for (const std::unique_ptr<ConnectionState>& entry : entries_) {
    if (entry->silenced && entry->session != nullptr) {
      entry->replies.clear();
    }
  }
}

ConnectionState* ConnectionTable::next_dirty() noexcept {
  while (dirty_ != nullptr) {
    ConnectionState& entry = *dirty_;
    dirty_ = entry.next_dirty;
    entry.dirty = false;
    if (entry.session != nullptr) {
      return &entry;
    }
    recycle(entry);
  }
  return nullptr;
}

}  // namespace mxkv::server
