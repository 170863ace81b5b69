// BasicSession's functions: input and life. Included where it is instantiated.
#pragma once

#include <algorithm>
#include <limits>
#include <utility>

#include "protocol/reply.hpp"
#include "runtime/base/assert.hpp"
#include "server/net/session.hpp"

namespace mxkv::server {

template <class Host>
BasicSession<Host>::BasicSession(Host& host, void* owner)
    : host_(&host), entry_(&host.directory.open(owner)), held_(host.input) {}

template <class Host>
BasicSession<Host>::~BasicSession() {
  if (value_) {
    value_->abandon(host_->worker);
  }
  while (first_waiting_ != nullptr) {
    Waiting* const waiting = std::exchange(first_waiting_, first_waiting_->next);
    if (waiting->value) {
      waiting->value->abandon(host_->worker);
    }
    host_->waiting.give(waiting);
  }
  host_->directory.close(*entry_);
}

template <class Host>
void BasicSession<Host>::receive(char* data, std::size_t bytes, std::size_t headroom) {
  MXKV_DCHECK(wants_input(), "a paused session is not read");
  if (held_.empty()) [[likely]] {
    run({data, bytes}, false);
    return;
  }
  const std::string_view held = held_.view();
  if (held.size() <= headroom) {
    // The beginning of a request goes in front of the rest of it: cheaper than the rest behind it.
    const std::size_t front = held.size();
    std::copy(held.begin(), held.end(), data - front);
    held_.clear();
    run({data - front, front + bytes}, false);
  } else {
    held_.append(data, bytes);
    run(held_.view(), true);
  }
}

template <class Host>
std::span<char> BasicSession<Host>::value_space() {
  if (input_ != input::value || value_left_ == 0) [[likely]] {
    return {};
  }
  const std::span<char> space = value_->space(host_->worker);
  return space.first(static_cast<std::size_t>(std::min<std::uint64_t>(space.size(), value_left_)));
}

template <class Host>
void BasicSession<Host>::received_value(std::size_t bytes) {
  value_->advance(bytes);
  value_left_ -= bytes;
  if (value_left_ == 0) {
    input_ = input::terminator;
  }
}

template <class Host>
void BasicSession<Host>::end_of_input() {
  eof_ = true;
  resume();
}

template <class Host>
void BasicSession<Host>::resume() {
  if (!running_) {
    run(held_.view(), true);
  }
}

template <class Host>
void BasicSession<Host>::run(std::string_view data, bool held) {
  running_ = true;
  entry_->wants_resume = false;
  std::size_t used = 0;
  for (;;) {
    const std::uint32_t ended = entry_->ended;
    const bool started = start_waiting();
    const std::size_t taken = closing_ ? data.size() - used : process(data.substr(used));
    used += taken;
    const bool blocked = first_waiting_ != nullptr || pause_ == pause::in_flight || pause_ == pause::order;
    // A store may end operations at once; then nobody would come back to who waited for them.
    if (!blocked || (ended == entry_->ended && !started)) {
      break;
    }
  }
  const std::string_view rest = data.substr(used);
  if (closing_ || (eof_ && pause_ == pause::none)) {
    held_.clear();  // a request that nobody will complete
  } else if (held) {
    held_.consume(used);
  } else {
    held_.append(rest.data(), rest.size());
  }
  entry_->wants_resume = first_waiting_ != nullptr || pause_ == pause::in_flight || pause_ == pause::order;
  entry_->resume_at = pause_ == pause::in_flight ? host_->limits.pipeline / 2 : 0;
  if (pause_ == pause::order && entry_->fence.ranges_in_flight() > 0) {
    entry_->resume_at = std::numeric_limits<std::uint32_t>::max();  // whenever one of them ended
  }
  running_ = false;
}

template <class Host>
std::size_t BasicSession<Host>::process(std::string_view data) {
  if (pause_ == pause::order) {
    pause_ = pause::none;
  }
  std::size_t used = 0;
  while (!closing_) {
    const std::string_view rest = data.substr(used);
    std::size_t taken = 0;
    switch (input_) {
      case input::line:
        taken = !rest.empty() && may_take() ? take_line(rest) : 0;
        break;
      case input::keys:
        taken = may_take() ? take_keys(rest) : 0;
        break;
      case input::value:
        taken = take_value(rest);
        break;
      case input::terminator:
        taken = take_terminator(rest);
        break;
      case input::swallow:
        taken = take_swallowed(rest);
        break;
    }
    if (taken == 0) {
      break;
    }
    used += taken;
  }
  if (used == data.size() && pause_ != pause::order && input_ != input::keys) {
    pause_ = pause::none;  // nothing is left that could be taken
  }
  return used;
}

template <class Host>
bool BasicSession<Host>::may_take() noexcept {
  const config::LimitOptions& limits = host_->limits;
  if (turn_ != host_->turn) {
    turn_ = host_->turn;
    taken_ = 0;
  }
  // Once over a limit, half of it must be free again, so that it does not come and go with each request.
  const auto below = [this](pause reason, std::size_t value, std::size_t limit) {
    return value < (pause_ == reason ? (limit + 1) / 2 : limit);
  };
  pause reason = pause::none;
  if (taken_ >= limits.requests_per_turn) {
    reason = pause::turn;
  } else if (waiting_count_ >= kMostWaiting ||
             !below(pause::in_flight, entry_->fence.in_flight(), limits.pipeline)) {
    reason = pause::in_flight;
  } else if (!below(pause::output, unsent_bytes(), limits.output_high_water)) {
    reason = pause::output;
  }
  pause_ = reason;
  if (reason != pause::none) [[unlikely]] {
    return false;
  }
  ++taken_;
  return true;
}

template <class Host>
std::size_t BasicSession<Host>::take_line(std::string_view data) {
  protocol::Request& request = host_->request;
  const protocol::Parsed parsed = host_->parser.parse(data.data(), data.size(), line_, request);
  switch (parsed.what) {
    case protocol::outcome::request:
      if (!dispatch(request)) {
        pause_ = pause::order;
        return 0;
      }
      if (input_ == input::keys) {
        const auto line_left = static_cast<std::size_t>(data.data() + parsed.consumed - request.keys.data());
        keys_bytes_ = request.keys.size();
        keys_end_bytes_ = line_left - keys_bytes_;
        return parsed.consumed - line_left;
      }
      return parsed.consumed +
             (input_ == input::value ? take_whole_value(data.substr(parsed.consumed)) : std::size_t{0});
    case protocol::outcome::need_more:
      --taken_;
      return 0;
    case protocol::outcome::error:
      if (parsed.delete_key) {
        protocol::Request remove;
        remove.op = protocol::verb::remove;
        remove.key = request.key;
        remove.noreply = true;
        mutate(remove);
      }
      if (parsed.swallow > 0) {
        swallow(parsed.swallow, parsed.error);
      } else if (!parsed.error.empty()) {
        answer(parsed.error);
      }
      return parsed.consumed;
    case protocol::outcome::close:
      closing_ = true;
      return data.size();
  }
  return 0;
}

template <class Host>
void BasicSession<Host>::swallow(std::uint64_t bytes, std::string_view error) noexcept {
  input_ = input::swallow;
  value_left_ = bytes;
  error_ = error;
}

template <class Host>
std::size_t BasicSession<Host>::take_keys(std::string_view data) {
  const std::string_view line = data.substr(0, keys_bytes_);
  std::string_view keys = line;
  const std::string_view key = protocol::next_key(keys);
  if (key.empty()) {
    answer(protocol::kEnd);
    input_ = input::line;
    return keys_bytes_ + keys_end_bytes_;
  }
  get(key, keys_op_, keys_exptime_, false);
  const auto used = static_cast<std::size_t>(key.data() + key.size() - line.data());
  keys_bytes_ -= used;
  return used;
}

// The usual case: all of it was read together with its line, and ends as it must. Else nothing is taken.
template <class Host>
std::size_t BasicSession<Host>::take_whole_value(std::string_view data) {
  const std::string_view value = data.substr(0, static_cast<std::size_t>(value_left_));
  if (data.substr(value.size(), 2) != protocol::kCrLf ||
      !value_->append(host_->worker, value.data(), value.size())) {
    return 0;
  }
  const std::size_t used = std::exchange(value_left_, 0) + 2;
  input_ = input::line;
  store_value();
  return used;
}

template <class Host>
std::size_t BasicSession<Host>::take_value(std::string_view data) {
  const std::string_view part =
      data.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(data.size(), value_left_)));
  if (!part.empty() && !value_->append(host_->worker, part.data(), part.size())) {
    value_->abandon(host_->worker);
    value_.reset();
    swallow(value_left_ + 2, quiet_ ? std::string_view{} : protocol::kOutOfMemory);
    return take_swallowed(data);
  }
  value_left_ -= part.size();
  if (value_left_ == 0) {
    input_ = input::terminator;
    return part.size() + take_terminator(data.substr(part.size()));
  }
  return part.size();
}

template <class Host>
std::size_t BasicSession<Host>::take_terminator(std::string_view data) {
  const std::size_t used = value_end_.feed(data);
  if (value_end_.complete()) {
    input_ = input::line;
    if (value_end_.good()) {
      store_value();
    } else {
      value_->abandon(host_->worker);
      value_.reset();
      if (!quiet_) {
        answer(protocol::kBadDataChunk);
      }
    }
  }
  return used;
}

template <class Host>
std::size_t BasicSession<Host>::take_swallowed(std::string_view data) {
  const auto used = static_cast<std::size_t>(std::min<std::uint64_t>(data.size(), value_left_));
  value_left_ -= used;
  if (value_left_ == 0) {
    input_ = input::line;
    if (!error_.empty()) {
      answer(error_);
    }
  }
  return used;
}

}  // namespace mxkv::server

#include "server/net/session_requests.hpp"
