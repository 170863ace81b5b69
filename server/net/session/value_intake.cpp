#include "server/net/session/value_intake.hpp"

#include <algorithm>
#include <utility>

#include "protocol/reply.hpp"
#include "runtime/base/assert.hpp"
#include "server/net/session/binary_answers.hpp"

namespace mxkv::server {

std::span<char> ValueIntake::space(SessionCore& core) {
  if (!core.state.is(session_state::value) || left_ == 0) [[likely]] {
    return {};
  }
  // receive() takes the last byte and so ends the value, because in the binary protocol no end of line
  // follows.
  const std::uint64_t most = left_ - (end_.complete() ? 1 : 0);
  if (most == 0) {
    return {};
  }
  const std::span<char> space = value_->space(core.host->worker);
  return space.first(static_cast<std::size_t>(std::min<std::uint64_t>(space.size(), most)));
}

void ValueIntake::received(SessionCore& core, std::size_t bytes) {
  MXKV_ASSERT(core.state.is(session_state::value) && bytes <= left_, "space() was as large");
  value_->advance(bytes);
  left_ -= bytes;
  if (left_ == 0) {
    core.state.fill_value();
  }
}

bool ValueIntake::begin(SessionCore& core, const protocol::Request& request, bool in_batch) {
  const bool large = request.value_bytes > kInlineValueBytes && !in_batch;
  Admission* const room = large ? core.host->room_for_value(request.value_bytes) : nullptr;
  if (large && room == nullptr) [[unlikely]] {
    MXKV_ASSERT(!core.pauses.has(kOfRoom), "a session waits in one list once");
    core.pauses.add(pause::value_room);
    core.host->queue_for_value(request.value_bytes)
        .wait(*core.entry->owner, request.value_bytes, core.host->worker.now_ns());
    return false;
  }
  value_.emplace(core.host->worker, request);
  if (value_->failed() && core.host->store.makes_room(core.host->worker, shortage::block, room_wait_))
      [[unlikely]] {
    value_.reset();
    core.pauses.add(pause::memory);
    return false;
  }
  room_wait_ = {};
  if (large) {
    MXKV_ASSERT(admitted_ == 0, "one large value comes at a time");
    admitted_ = request.value_bytes;
    admitted_ns_ = core.host->worker.now_ns();
    room->take(*core.entry->owner, admitted_);
    room_ = room;
  }
  left_ = request.value_bytes;
  quiet_ = request.noreply;
  core.binary_form = request.meta.binary;
  end_ = request.is_binary() ? protocol::DataBlockEnd::none() : protocol::DataBlockEnd{};
  core.state.begin_value();
  if (left_ == 0) {
    core.state.fill_value();
  }
  return true;
}

std::size_t ValueIntake::take_whole(SessionCore& core, Launcher& launcher, const protocol::Request& request,
                                    std::string_view data) {
  const auto bytes = static_cast<std::size_t>(request.value_bytes);
  if (bytes > kInlineValueBytes || data.size() < bytes + 2 || data[bytes] != '\r' || data[bytes + 1] != '\n')
      [[unlikely]] {
    return 0;
  }
  if (is_plain_set(request) && core.entry->order.keys_untracked(operation_kind::write)) [[likely]] {
    const protocol::SentValue sent{request.key.data(), &data.front(), static_cast<std::uint32_t>(bytes),
                                   static_cast<std::uint8_t>(request.key.size()), false};
    return Launcher::start_sets(core, {&sent, 1}, core.ticket_for(request.noreply)) == 1 ? bytes + 2 : 0;
  }
  ItemBuilder value{core.host->worker, request, data.substr(0, bytes)};
  if (value.failed()) [[unlikely]] {
    return 0;
  }
  launcher.start(core, value.request(), operation_kind::write, &value, request.noreply);
  return bytes + 2;
}

std::size_t ValueIntake::take(SessionCore& core, Launcher& launcher, BatchIntake& batch,
                              std::string_view data) {
  MXKV_ASSERT(value_ && left_ > 0, "a value has bytes to come");
  const std::string_view part =
      data.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(data.size(), left_)));
  const std::size_t taken =
      value_->failed() ? 0 : value_->append(core.host->worker, part.data(), part.size());
  left_ -= taken;
  if (taken < part.size()) [[unlikely]] {
    room_wait_ = taken > 0 ? RoomWait{} : room_wait_;
    if (!value_->failed() && core.host->store.makes_room(core.host->worker, shortage::chunk, room_wait_)) {
      core.pauses.add(pause::memory);
      admitted_ns_ = core.host->worker.now_ns();  // the client did not cause this wait
      return taken;
    }
    core.host->store.count_no_memory(core.host->worker);
    drop(core);
    swallow(core, left_ + end_.missing(), quiet_ ? std::string_view{} : protocol::kOutOfMemory);
    return taken + take_swallowed(core, batch, data.substr(taken));
  }
  if (left_ == 0) {
    core.state.fill_value();
    return part.size() + take_end(core, launcher, batch, data.substr(part.size()));
  }
  return part.size();
}

std::size_t ValueIntake::take_end(SessionCore& core, Launcher& launcher, BatchIntake& batch,
                                  std::string_view data) {
  const std::size_t used = end_.feed(data);
  if (end_.complete()) {
    core.state.end_value();
    give_up_room(core);
    if (end_.good()) {
      store(core, launcher, batch);
    } else {
      abandon(core);
      if (!quiet_) {
        refuse(core, batch, protocol::kBadDataChunk);
      }
    }
  }
  return used;
}

void ValueIntake::swallow(SessionCore& core, std::uint64_t bytes, std::string_view error) noexcept {
  core.state.begin_swallowing();
  left_ = bytes;
  error_ = error;
}

std::size_t ValueIntake::take_swallowed(SessionCore& core, BatchIntake& batch, std::string_view data) {
  const auto used = static_cast<std::size_t>(std::min<std::uint64_t>(data.size(), left_));
  left_ -= used;
  if (left_ == 0) {
    core.state.end_swallowing();
    if (!error_.empty()) {
      refuse(core, batch, error_);
    }
  }
  return used;
}

void ValueIntake::store(SessionCore& core, Launcher& launcher, BatchIntake& batch) {
  MXKV_ASSERT(value_ && left_ == 0, "a value is stored when it is whole");
  if (value_->failed()) {  // an empty value, and no memory for its item
    core.host->store.count_no_memory(core.host->worker);
    value_.reset();
    if (!quiet_) {
      refuse(core, batch, protocol::kOutOfMemory);
    }
    return;
  }
  if (batch.open()) [[unlikely]] {
    batch.add(core, *value_);
  } else {
    launcher.start(core, value_->request(), operation_kind::write, &*value_, quiet_);
  }
  value_.reset();
}

void ValueIntake::drop(SessionCore& core) noexcept {
  abandon(core);
  give_up_room(core);
}

void ValueIntake::abandon(SessionCore& core) noexcept {
  if (value_) {
    value_->abandon(core.host->worker);
    value_.reset();
  }
}

// Reports that the last value is not stored.
void ValueIntake::refuse(SessionCore& core, BatchIntake& batch, std::string_view error) {
  if (batch.open()) [[unlikely]] {
    batch.fail(core, error);
  } else if (core.state.speaks_binary()) {
    // The length of a packet's value was judged with its header, and no end of line follows it. So only
    // memory can be missing.
    core.answer_code(protocol::reply_code::no_memory);
  } else {
    core.answer(error);
  }
}

}  // namespace mxkv::server
