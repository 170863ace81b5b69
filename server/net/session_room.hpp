// BasicSession's functions: what of the worker's shares of memory it may take. Part of session_impl.hpp.
//
// Requests are taken by allowances: so many as their replies, by what those before them were like, find room
// for in what the connection and the worker may leave unsent. Nothing else is asked a request.
//
// A connection may have a quarter of what is open of its worker's share: many that do not read share it
// between themselves, and there is always some left for one that comes next. One that owes nothing may always
// take one request.
#pragma once

#include <algorithm>
#include <utility>

#include "protocol/reply.hpp"
#include "server/net/session.hpp"

namespace mxkv::server {

/// The allowance is used up. Returns whether there is a new one; else pause_ says why not.
template <class Host>
bool BasicSession<Host>::renew_allowance() noexcept {
  const config::LimitOptions& limits = host_->limits;
  estimate_.look(entry_->replies.completed(), entry_->replies.written_bytes());
  settle_promise();
  MemoryShare& share = host_->directory.share();
  const std::size_t in_flight = entry_->fence.in_flight();
  const std::size_t unsent = unsent_bytes();
  const std::size_t part = share.open() / 4;
  const std::size_t most_unsent = std::min<std::size_t>(limits.output_high_water, part);
  // Once over a limit, half of it must be free again, so that it does not come and go with each request.
  const auto below = [this](pause reason, std::size_t value, std::size_t limit) {
    return value < (pause_ == reason ? (limit + 1) / 2 : limit);
  };
  resume_at_ = limits.pipeline / 2;
  if (taken_ >= limits.requests_per_turn) {
    pause_ = pause::turn;
    return false;
  }
  if (waiting_count_ >= kMostWaiting || !below(pause::in_flight, in_flight, limits.pipeline)) {
    pause_ = pause::in_flight;
    return false;
  }
  if (unsent != 0 && !below(pause::output, unsent, most_unsent)) {
    pause_ = pause::output;
    return false;
  }
  const std::size_t room = estimate_.known()
                               ? (most_unsent - std::min(most_unsent, unsent)) / estimate_.bytes()
                               : part / estimate_.memory();
  if (room + 1 <= in_flight) {
    resume_at_ = static_cast<std::uint32_t>(std::min<std::size_t>(resume_at_, room));
    pause_ = pause::in_flight;
    return false;
  }
  const std::size_t allowed = std::min({std::size_t{limits.requests_per_turn} - taken_,
                                        std::size_t{limits.pipeline} - in_flight, room + 1 - in_flight});
  allowance_ = taken_ + static_cast<std::uint32_t>(allowed);
  const std::size_t promise = allowed * estimate_.memory() + (allowed > 1 ? BlockPool::kBlockBytes : 0);
  promised_ += promise;
  share.promise(promise);
  pause_ = pause::none;
  return true;
}

/// What is promised is what is in flight: no more comes of this turn, or some of it was written.
template <class Host>
void BasicSession<Host>::settle_promise() noexcept {
  MemoryShare& share = host_->directory.share();
  share.break_promise(promised_);
  const std::size_t coming = entry_->fence.in_flight() + waiting_count_;
  promised_ = coming * estimate_.memory() + (coming > 1 ? BlockPool::kBlockBytes : 0);
  share.promise(promised_);
  allowance_ = taken_;
}

template <class Host>
void BasicSession<Host>::wait_for_share() {
  pause_ = pause::share;
  if (!starved_) {
    starved_ = true;
    host_->starved.push_back(entry_);
  }
}

/// A large value must not begin to come yet.
template <class Host>
void BasicSession<Host>::wait_with_value() {
  pause_ = pause::share;
  if (!waits_with_value_) {
    waits_with_value_ = true;
    host_->value_waiters.push_back(entry_);
  }
}

/// Bytes that are kept of a batch which is not complete.
template <class Host>
void BasicSession<Host>::keep(std::size_t bytes) noexcept {
  kept_ += bytes;
  host_->input.share().take(bytes);
}

template <class Host>
void BasicSession<Host>::keep_no_more() noexcept {
  host_->input.share().give(kept_);
  kept_ = 0;
  if (admitted_ != 0) {
    host_->admitted -= std::exchange(admitted_, 0);
    host_->value_ended = true;
  }
}

/// Holds bytes behind those that are held. Without room for them the client is told so, and leaves.
template <class Host>
void BasicSession<Host>::hold(const char* data, std::size_t bytes) {
  const bool stranger = after_ == input::login;
  if ((stranger && held_.view().size() + bytes > kMostOfStranger) ||
      !host_->has_input_room(held_.needs(bytes), unfinished_bytes(), *entry_)) {
    refuse_input();
    return;
  }
  held_.append(data, bytes);
}

template <class Host>
void BasicSession<Host>::refuse_input() {
  refused_ = true;
  closing_ = true;
  if (value_) {
    value_->abandon(host_->worker);
    value_.reset();
  }
  if (batch_ != nullptr) {
    batch_->abandon(host_->worker);
    batch_.reset();
  }
  keep_no_more();
  held_.clear();
  answer(protocol::kNoInputMemory);
}

}  // namespace mxkv::server
