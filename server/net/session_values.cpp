// Session's functions for data blocks.
#include <algorithm>
#include <utility>

#include "protocol/reply.hpp"
#include "runtime/base/assert.hpp"
#include "server/net/session.hpp"

namespace mxkv::server {

std::span<char> Session::value_space() {
  if (!state_.is(session_state::value) || block_left_ == 0) [[likely]] {
    return {};
  }
  // receive() takes the last byte and so ends the value, because in the binary protocol no end of line
  // follows.
  const std::uint64_t most = block_left_ - (value_end_.complete() ? 1 : 0);
  if (most == 0) {
    return {};
  }
  const std::span<char> space = value_->space(host_->worker);
  return space.first(static_cast<std::size_t>(std::min<std::uint64_t>(space.size(), most)));
}

void Session::received_value(std::size_t bytes) {
  MXKV_ASSERT(state_.is(session_state::value) && bytes <= block_left_, "value_space() was as large");
  value_->advance(bytes);
  block_left_ -= bytes;
  if (block_left_ == 0) {
    state_.fill_value();
  }
}

// False: the value has to wait, and pauses_ says for what.
bool Session::begin_value(const protocol::Request& request) {
  const bool large = request.value_bytes > kInlineValueBytes && batch_ == nullptr;
  if (large && !host_->values.admits(request.value_bytes, host_->value_room())) [[unlikely]] {
    wait_with_value(request.value_bytes);
    return false;
  }
  value_.emplace(host_->worker, request);
  if (value_->failed() && host_->store.makes_room(host_->worker, shortage::block)) [[unlikely]] {
    value_.reset();
    pauses_.add(pause::memory);
    return false;
  }
  if (large) {
    MXKV_ASSERT(admitted_ == 0, "one large value comes at a time");
    admitted_ = request.value_bytes;
    admitted_ns_ = host_->worker.now_ns();
    host_->values.take(*entry_->owner, admitted_);
  }
  block_left_ = request.value_bytes;
  quiet_ = request.noreply;
  binary_form_ = request.meta.binary;
  value_end_ = request.is_binary() ? protocol::DataBlockEnd::none() : protocol::DataBlockEnd{};
  state_.begin_value();
  if (block_left_ == 0) {
    state_.fill_value();
  }
  return true;
}

// The usual case: the value came together with its line. It goes straight into its item, without a state in
// between. In other cases this takes nothing, and returns 0.
std::size_t Session::take_with_value(const protocol::Request& request, std::string_view data) {
  const auto bytes = static_cast<std::size_t>(request.value_bytes);
  if (bytes > kInlineValueBytes || data.size() < bytes + 2 || data[bytes] != '\r' || data[bytes + 1] != '\n')
      [[unlikely]] {
    return 0;
  }
  if (is_plain_set(request) && entry_->order.keys_untracked(operation_kind::write)) [[likely]] {
    const protocol::SentValue sent{request.key.data(), &data.front(), static_cast<std::uint32_t>(bytes),
                                   static_cast<std::uint8_t>(request.key.size()), false};
    return start_sets({&sent, 1}, ticket_for(request.noreply)) == 1 ? bytes + 2 : 0;
  }
  ItemBuilder value{host_->worker, request, data.substr(0, bytes)};
  if (value.failed()) [[unlikely]] {
    return 0;
  }
  start(value.request(), operation_kind::write, &value, request.noreply);
  return bytes + 2;
}

std::size_t Session::take_value(std::string_view data) {
  MXKV_ASSERT(value_ && block_left_ > 0, "a value has bytes to come");
  const std::string_view part =
      data.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(data.size(), block_left_)));
  const std::size_t taken = value_->failed() ? 0 : value_->append(host_->worker, part.data(), part.size());
  block_left_ -= taken;
  if (taken < part.size()) [[unlikely]] {
    if (!value_->failed() && host_->store.makes_room(host_->worker, shortage::chunk)) {
      pauses_.add(pause::memory);
      admitted_ns_ = host_->worker.now_ns();  // the client did not cause this wait
      return taken;
    }
    host_->store.count_no_memory(host_->worker);
    drop_value();
    give_up_room();
    swallow(block_left_ + value_end_.missing(), quiet_ ? std::string_view{} : protocol::kOutOfMemory);
    return taken + take_swallowed(data.substr(taken));
  }
  if (block_left_ == 0) {
    state_.fill_value();
    return part.size() + take_value_end(data.substr(part.size()));
  }
  return part.size();
}

std::size_t Session::take_value_end(std::string_view data) {
  const std::size_t used = value_end_.feed(data);
  if (value_end_.complete()) {
    state_.end_value();
    give_up_room();
    if (value_end_.good()) {
      store_value();
    } else {
      drop_value();
      if (!quiet_) {
        refuse_value(protocol::kBadDataChunk);
      }
    }
  }
  return used;
}

void Session::swallow(std::uint64_t bytes, std::string_view error) noexcept {
  state_.begin_swallowing();
  block_left_ = bytes;
  error_ = error;
}

std::size_t Session::take_swallowed(std::string_view data) {
  const auto used = static_cast<std::size_t>(std::min<std::uint64_t>(data.size(), block_left_));
  block_left_ -= used;
  if (block_left_ == 0) {
    state_.end_swallowing();
    if (!error_.empty()) {
      refuse_value(error_);
    }
  }
  return used;
}

void Session::store_value() {
  MXKV_ASSERT(value_ && block_left_ == 0, "a value is stored when it is whole");
  if (value_->failed()) {  // an empty value, and no memory for its item
    host_->store.count_no_memory(host_->worker);
    value_.reset();
    if (!quiet_) {
      refuse_value(protocol::kOutOfMemory);
    }
    return;
  }
  if (batch_ != nullptr) [[unlikely]] {
    batch_->add(host_->worker, value_->request(), &*value_);
  } else {
    start(value_->request(), operation_kind::write, &*value_, quiet_);
  }
  value_.reset();
}

void Session::drop_value() noexcept {
  if (value_) {
    value_->abandon(host_->worker);
    value_.reset();
  }
}

// Reports that the last value is not stored.
void Session::refuse_value(std::string_view error) {
  if (batch_ != nullptr) [[unlikely]] {
    batch_->fail(host_->worker, error);
    keep_no_more();
  } else if (state_.speaks_binary()) {
    // The length of a packet's value was judged with its header, and no end of line follows it. So only
    // memory can be missing.
    answer_code(protocol::reply_code::no_memory);
  } else {
    answer(error);
  }
}

}  // namespace mxkv::server
