// BasicSession's functions: data blocks. Part of session_impl.hpp.
#pragma once

#include <algorithm>

#include "protocol/reply.hpp"
#include "server/net/session.hpp"

namespace mxkv::server {

// The usual case: all of it was read together with its line, and ends as it must. Else nothing is taken.
template <class Host>
std::size_t BasicSession<Host>::take_whole_value(std::string_view data) {
  const std::string_view value = data.substr(0, static_cast<std::size_t>(value_left_));
  if (data.substr(value.size(), 2) != protocol::kCrLf) {
    return 0;
  }
  const std::size_t taken = value_->failed() ? 0 : value_->append(host_->worker, value.data(), value.size());
  if (taken < value.size()) [[unlikely]] {
    value_left_ -= taken;
    return taken;
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
  const std::size_t taken = value_->failed() ? 0 : value_->append(host_->worker, part.data(), part.size());
  value_left_ -= taken;
  if (taken < part.size()) [[unlikely]] {
    if (!value_->failed() && host_->store.makes_room(host_->worker)) {
      pause_ = pause::turn;
      return taken;
    }
    host_->store.count_no_memory(host_->worker);
    value_->abandon(host_->worker);
    value_.reset();
    swallow(value_left_ + 2, quiet_ ? std::string_view{} : protocol::kOutOfMemory);
    return taken + take_swallowed(data.substr(taken));
  }
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
    input_ = after_;
    if (!error_.empty()) {
      answer(error_);
    }
  }
  return used;
}

}  // namespace mxkv::server
