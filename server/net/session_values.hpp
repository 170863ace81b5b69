// BasicSession's functions: data blocks. Part of session_impl.hpp.
#pragma once

#include <algorithm>
#include <utility>

#include "protocol/reply.hpp"
#include "server/net/session.hpp"

namespace mxkv::server {

template <class Host>
bool BasicSession<Host>::begin_value(const protocol::Request& request) {
  const bool large = request.value_bytes > kInlineValueBytes && batch_ == nullptr;
  if (large && !host_->admits_value(request.value_bytes)) [[unlikely]] {
    wait_with_value();
    return false;
  }
  value_.emplace(Builder::begin(host_->worker, request));
  if (value_->failed() && host_->store.makes_room(host_->worker)) [[unlikely]] {
    value_.reset();
    return false;
  }
  if (large) {
    admitted_ = request.value_bytes;
    host_->admitted += admitted_;
  }
  value_left_ = request.value_bytes;
  quiet_ = request.noreply;
  value_end_ = {};
  input_ = value_left_ == 0 ? input::terminator : input::value;
  return true;
}

// The usual case: all of it was read together with its line, and ends as it must. Else nothing is taken.
template <class Host>
std::size_t BasicSession<Host>::take_whole_value(std::string_view data) {
  const std::string_view value = data.substr(0, static_cast<std::size_t>(value_left_));
  const char* const end = value.data() + value.size();
  if (data.size() - value.size() < 2 || end[0] != '\r' || end[1] != '\n') {
    return 0;
  }
  const std::size_t taken = value_->failed() ? 0 : value_->append(host_->worker, value.data(), value.size());
  if (taken < value.size()) [[unlikely]] {
    value_left_ -= taken;
    return taken;
  }
  const std::size_t used = std::exchange(value_left_, 0) + 2;
  input_ = after_;
  end_value();
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
    if (!value_->failed() && host_->store.makes_room(host_->worker, shortage::chunk)) {
      pause_ = pause::memory;
      return taken;
    }
    host_->store.count_no_memory(host_->worker);
    value_->abandon(host_->worker);
    value_.reset();
    end_value();
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
    input_ = after_;
    end_value();
    if (value_end_.good()) {
      store_value();
    } else {
      value_->abandon(host_->worker);
      value_.reset();
      if (!quiet_) {
        refuse_value(protocol::kBadDataChunk);
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
      refuse_value(error_);
    }
  }
  return used;
}

template <class Host>
void BasicSession<Host>::store_value() {
  if (value_->failed()) {  // an empty value for whose item there was no memory
    host_->store.count_no_memory(host_->worker);
    value_.reset();
    if (!quiet_) {
      refuse_value(protocol::kOutOfMemory);
    }
    return;
  }
  if (batch_ != nullptr) [[unlikely]] {
    batch_->add(host_->worker, std::move(*value_));
    value_.reset();
    return;
  }
  FenceClaim claim{0};
  const bool starts = pass_fence(operation_kind::write, value_->key(), claim);
  const std::uint32_t ticket = ticket_for(quiet_);
  if (starts) [[likely]] {
    host_->store.store(host_->worker, std::move(*value_), address(claim, ticket), entry_->commits.start());
  } else {
    enqueue(claim, ticket, protocol::verb::set)->value = std::move(value_);
  }
  value_.reset();
}

template <class Host>
void BasicSession<Host>::refuse_value(std::string_view error) {
  if (batch_ != nullptr) [[unlikely]] {
    batch_->fail(host_->worker, error);
    keep_no_more();
  } else {
    answer(error);
  }
}

}  // namespace mxkv::server
