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
    : host_(&host), entry_(&host.directory.open(owner)), held_(host.input) {
  if (host.credentials != nullptr && host.credentials->required()) {
    input_ = after_ = input::login;
  }
}

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
  if (batch_ != nullptr) {
    batch_->abandon(host_->worker);
  }
  if (dump_ != nullptr) {
    dump_->leave();
  }
  stop_watching();
  keep_no_more();
  host_->directory.share().break_promise(promised_);
  if (starved_) {
    std::erase(host_->starved, entry_);
  }
  if (waits_with_value_) {
    std::erase(host_->value_waiters, entry_);
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
    hold(data, bytes);
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
  if (watcher_ != nullptr) {
    stop_watching();
    closing_ = true;
  }
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
    hold(rest.data(), rest.size());
  }
  end_round();  // what else was allowed is not taken in this turn
  entry_->wants_resume = first_waiting_ != nullptr || pause_ == pause::in_flight || pause_ == pause::order;
  entry_->resume_at = pause_ == pause::in_flight ? resume_at_ : 0;
  if (pause_ == pause::order && entry_->fence.ranges_in_flight() > 0) {
    entry_->resume_at = std::numeric_limits<std::uint32_t>::max();  // whenever one of them ended
  }
  running_ = false;
}

template <class Host>
std::size_t BasicSession<Host>::process(std::string_view data) {
  if (pause_ == pause::order || pause_ == pause::share || pause_ == pause::memory) {
    pause_ = pause::none;
  }
  std::size_t used = 0;
  while (!closing_) {
    if (input_ == input::dump && !dump_ended()) {
      break;
    }
    if (input_ == input::batch && batch_->missing() == 0 && !batch_started()) {
      break;
    }
    if (input_ == input::watch) {
      pull_watched();
      return data.size();  // who watches has no more to say
    }
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
      case input::batch:
        taken = !rest.empty() && may_take() ? take_batch_line(rest) : 0;
        break;
      case input::login:
        taken = !rest.empty() && may_take() ? take_login(rest) : 0;
        break;
      case input::credentials:
        taken = take_credentials(rest);
        break;
      case input::watch:
      case input::dump:
        break;  // dump_ended() made it another one
    }
    if (taken == 0) {
      break;
    }
    used += taken;
  }
  if (used == data.size() && pause_ != pause::order && pause_ != pause::share && pause_ != pause::memory &&
      input_ != input::keys && input_ != input::dump) {
    pause_ = pause::none;  // nothing is left that could be taken
  }
  return used;
}

template <class Host>
std::size_t BasicSession<Host>::take_line(std::string_view data) {
  protocol::Request& request = host_->request;
  const protocol::Parsed parsed = host_->parser.parse(data.data(), data.size(), line_, request);
  switch (parsed.what) {
    case protocol::outcome::request:
      if (host_->sampler.due()) [[unlikely]] {
        host_->sampler.begin(*entry_, request);
      }
      if (!dispatch(request)) {
        host_->sampler.cancel(*entry_);
        if (pause_ == pause::none) {
          pause_ = protocol::takes_value(request.op) ? pause::memory : pause::order;
        }
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
      if (parsed.error == protocol::kTooLarge) {
        host_->store.count_too_large(host_->worker);
      }
      if (parsed.swallow > 0) {
        swallow(parsed.swallow, parsed.error);
      } else if (!parsed.error.empty()) {
        answer(parsed.error);
      }
      closing_ = parsed.closes;
      return parsed.consumed;
    case protocol::outcome::close:
      closing_ = true;
      return data.size();
  }
  return 0;
}

/// What became of a line that is not simply run: of a client that is being let in, or of a batch. False: there
/// is none yet, and the bytes wait, or none will come, and the connection closes.
template <class Host>
bool BasicSession<Host>::is_line(const protocol::Parsed& parsed) {
  if (parsed.what == protocol::outcome::need_more) {
    --taken_;
  }
  closing_ = parsed.what == protocol::outcome::close;
  return parsed.what == protocol::outcome::request || parsed.what == protocol::outcome::error;
}

template <class Host>
void BasicSession<Host>::swallow(std::uint64_t bytes, std::string_view error) noexcept {
  input_ = input::swallow;
  value_left_ = bytes;
  error_ = error;
}

// Key by key until the line or the share ends: each is a request of its own to the limits.
template <class Host>
std::size_t BasicSession<Host>::take_keys(std::string_view data) {
  const std::string_view line = data.substr(0, keys_bytes_);
  std::string_view keys = line;
  do {
    const std::string_view key = protocol::next_key(keys);
    if (key.empty()) {
      answer(protocol::kEnd);
      input_ = input::line;
      return line.size() + keys_end_bytes_;
    }
    get(key, keys_op_, keys_exptime_, false);
  } while (may_take());
  keys_bytes_ = keys.size();
  return line.size() - keys.size();
}

}  // namespace mxkv::server

#include "server/net/session_batches.hpp"
#include "server/net/session_login.hpp"
#include "server/net/session_requests.hpp"
#include "server/net/session_room.hpp"
#include "server/net/session_streams.hpp"
#include "server/net/session_values.hpp"
