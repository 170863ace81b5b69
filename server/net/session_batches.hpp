// BasicSession's functions: batches. Part of session_impl.hpp.
//
// Whatever is wrong with a line of a batch, it is consumed with its block and counted, so that the stream
// stays in step; the batch is answered when its last line came. Only a block of unknown length, behind which
// nobody knows where the next line begins, ends that and the connection.
#pragma once

#include <memory>
#include <utility>

#include "protocol/reply.hpp"
#include "server/net/session.hpp"

namespace mxkv::server {

/// Memory of a line, but for its value.
inline constexpr std::size_t kBatchLineBytes = 704;

template <class Host>
void BasicSession<Host>::begin_batch(std::uint32_t lines) {
  host_->sampler.cancel(*entry_);  // what the client takes to send its lines is none of ours
  batch_ = std::make_unique<Batch>(lines);
  batch_lines_ = 0;
  batch_bytes_ = 0;
  input_ = after_ = input::batch;
}

template <class Host>
std::size_t BasicSession<Host>::take_batch_line(std::string_view data) {
  const protocol::Request& request = host_->request;
  const protocol::Parsed parsed = host_->parser.parse(data.data(), data.size(), line_, host_->request);
  if (!is_line(parsed)) {
    return 0;
  }
  const bool has_block = parsed.what == protocol::outcome::request && protocol::takes_value(request.op);
  const std::uint64_t block = has_block ? request.value_bytes + protocol::kCrLf.size() : parsed.swallow;
  std::string_view flaw = flaw_of(parsed, request);
  if (flaw.empty() && !batch_->failed() &&
      !host_->has_input_room(kBatchLineBytes, unfinished_bytes(), *entry_)) {
    host_->store.count_no_memory(host_->worker);
    flaw = protocol::kOutOfMemory;
  }
  const bool wanted = flaw.empty() && !batch_->failed();
  if (wanted && has_block && !begin_value(request)) {
    pause_ = pause::memory;
    return 0;
  }
  ++batch_lines_;
  if (wanted) {
    keep(kBatchLineBytes);
  } else if (!batch_->failed()) {
    keep_no_more();
  }
  batch_bytes_ += has_block ? request.value_bytes : 0;
  if (wanted && has_block) {
    return parsed.consumed +
           (input_ == input::value ? take_whole_value(data.substr(parsed.consumed)) : std::size_t{0});
  }
  if (wanted) {
    batch_->add(host_->worker, request);
    return parsed.consumed;
  }
  batch_->fail(host_->worker, flaw);
  if (block > 0) {
    swallow(block, {});
  } else if (parsed.length_unknown) {
    refuse_batch();
    closing_ = true;
  }
  return parsed.consumed;
}

/// Why the batch cannot have this as its next line, or nothing.
template <class Host>
std::string_view BasicSession<Host>::flaw_of(const protocol::Parsed& parsed,
                                             const protocol::Request& request) noexcept {
  if (batch_lines_ >= host_->limits.batch_lines) {
    return protocol::kBatchLines;
  }
  if (parsed.what == protocol::outcome::error) {
    if (parsed.error == protocol::kTooLarge) {
      host_->store.count_too_large(host_->worker);
    }
    return parsed.error.empty() ? protocol::kNotInBatch : parsed.error;
  }
  if (!protocol::may_stand_in_batch(request.op)) {
    return protocol::kNotInBatch;
  }
  const bool too_much =
      protocol::takes_value(request.op) && batch_bytes_ + request.value_bytes > host_->limits.batch_bytes;
  return too_much ? protocol::kBatchBytes : std::string_view{};
}

// Nothing of it took or takes place, so that it waits for nobody.
template <class Host>
void BasicSession<Host>::refuse_batch() {
  const std::uint32_t ticket = entry_->replies.open();
  batch_->answer(&entry_->replies, ticket, host_->worker);
  entry_->replies.close(ticket);
  host_->directory.mark_dirty(*entry_);
}

// A batch is a barrier: it may have any keys. False: it has to wait.
template <class Host>
bool BasicSession<Host>::batch_started() {
  if (batch_->failed()) {
    refuse_batch();
  } else {
    const FenceClaim claim{operation_kind::barrier, 0};
    if (!entry_->fence.try_start(claim)) {
      pause_ = pause::order;
      return false;
    }
    if (host_->sampler.due()) [[unlikely]] {
      host_->request.op = protocol::verb::meta_batch;
      host_->sampler.begin(*entry_, host_->request);
    }
    host_->store.batch(host_->worker, std::move(batch_), address(claim, entry_->replies.open()));
  }
  batch_.reset();
  keep_no_more();
  input_ = after_ = input::line;
  return true;
}

}  // namespace mxkv::server
