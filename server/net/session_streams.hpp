// BasicSession's functions: replies that come in pieces over time, dumps and what is watched. Part of
// session_impl.hpp.
#pragma once

#include <utility>

#include "protocol/reply.hpp"
#include "server/net/session.hpp"

namespace mxkv::server {

// Begins the next page as soon as the last one has gone far enough; each is a range read of its own.
template <class Host>
bool BasicSession<Host>::dump_ended() {
  if (dump_->ended()) {
    std::exchange(dump_, nullptr)->leave();
    input_ = input::line;
    return true;
  }
  const FenceClaim claim{operation_kind::range, 0};
  if (!dump_->running() && !may_take()) {
    return false;
  }
  if (!dump_->running() && !host_->has_page_room()) {
    wait_for_share();
    return false;
  }
  if (!dump_->running() && entry_->fence.try_start(claim)) {
    dump_->begin_page();
    host_->directory.began_range();
    host_->store.dump(host_->worker, *dump_, address(claim, entry_->replies.open()));
  }
  pause_ = pause::order;
  return false;
}

template <class Host>
void BasicSession<Host>::watch(std::uint32_t kinds) {
  if (host_->watch_hub == nullptr) {
    answer(protocol::kError);
    return;
  }
  watcher_ = host_->watch_hub->add(kinds, host_->directory.address(*entry_).worker);
  if (watcher_ == nullptr) {
    answer(protocol::kTooManyWatchers);
    return;
  }
  answer(protocol::kOk);
  watch_ticket_ = entry_->replies.open();  // one reply that does not end
  host_->watching.push_back(entry_);
  input_ = input::watch;
}

// What is kept for it comes only while the client takes it; the rest stays in the watcher, which is bounded.
template <class Host>
void BasicSession<Host>::pull_watched() {
  const std::size_t most = host_->limits.output_high_water;
  pause_ = pause::none;
  if (unsent_bytes() < most) {
    const std::string lines = watcher_->take();
    entry_->replies.append(watch_ticket_, lines);
    host_->directory.mark_dirty(*entry_);
  }
  if (unsent_bytes() >= most) {
    pause_ = pause::output;
  }
}

template <class Host>
void BasicSession<Host>::stop_watching() noexcept {
  if (watcher_ != nullptr) {
    host_->watch_hub->remove(watcher_);
    std::erase(host_->watching, entry_);
    entry_->replies.close(watch_ticket_);
    watcher_ = nullptr;
  }
}

}  // namespace mxkv::server
