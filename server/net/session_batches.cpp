// Session's functions: batches.
//
// A bad line of a batch is consumed with its block and counted, so that the stream stays in step. The batch
// is answered after its last line. Only a block of unknown length hides where the next line begins. That ends
// the batch and the connection.
#include <utility>

#include "protocol/reply.hpp"
#include "runtime/base/assert.hpp"
#include "server/net/rights.hpp"
#include "server/net/session.hpp"

namespace mxkv::server {

namespace {
/// Memory of a line without its value.
constexpr std::size_t kBatchLineBytes = 704;
}  // namespace

void Session::begin_batch(std::uint32_t lines) {
  MXKV_ASSERT(batch_ == nullptr, "batches do not nest");
  batch_ = host_->store.begin_batch(lines);
  batch_lines_ = 0;
  batch_bytes_ = 0;
  state_.begin_batch();
}

std::size_t Session::take_batch_line(std::string_view data) {
  const protocol::Request& request = host_->request;
  const protocol::Parsed parsed = host_->parser.parse(data.data(), data.size(), line_, host_->request);
  if (!is_line(parsed, data)) {
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
    return parsed.consumed;
  }
  if (wanted) {
    batch_->add(host_->worker, protocol::point_request(request), nullptr);
    return parsed.consumed;
  }
  batch_->fail(host_->worker, flaw);
  if (block > 0) {
    swallow(block, {});
  } else if (parsed.length_unknown) {
    refuse_batch();
    drain_in_error();
  }
  return parsed.consumed;
}

// Why the batch cannot have this line as its next; empty: it can.
std::string_view Session::flaw_of(const protocol::Parsed& parsed, const protocol::Request& request) {
  if (batch_lines_ >= host_->limits.batch_lines) {
    return protocol::kBatchLines;
  }
  if (parsed.what == protocol::outcome::error) {
    if (parsed.too_large) {
      host_->store.count_too_large(host_->worker);
    }
    return parsed.error.empty() ? protocol::kNotInBatch : parsed.error;
  }
  if (!protocol::may_stand_in_batch(request.op)) {
    return protocol::kNotInBatch;
  }
  if (limited_ && !permits(*user(), request)) [[unlikely]] {
    count_forbidden(request);
    return protocol::kForbidden;
  }
  const bool too_much =
      protocol::takes_value(request.op) && batch_bytes_ + request.value_bytes > host_->limits.batch_bytes;
  return too_much ? protocol::kBatchBytes : std::string_view{};
}

// Nothing of the batch was executed, so its refusal need not wait for earlier requests.
void Session::refuse_batch() {
  MXKV_ASSERT(batch_->failed(), "a batch is refused when a line of it was");
  const std::uint32_t ticket = entry_->replies.open();
  batch_->answer(&entry_->replies, ticket, host_->worker);
  entry_->replies.close(ticket);
  host_->directory.mark_dirty(*entry_);
}

// A batch may have any keys, so it is a barrier. False: it has to wait.
bool Session::batch_started() {
  MXKV_ASSERT(batch_->missing() == 0, "a batch starts when all of its lines came");
  if (batch_->failed()) {
    refuse_batch();
  } else {
    const OrderClaim claim{operation_kind::barrier, 0};
    if (!entry_->order.try_start(claim)) {
      pauses_.add(pause::order);
      return false;
    }
    if (host_->sampler.due()) [[unlikely]] {
      host_->request.op = protocol::verb::meta_batch;  // its other fields are left from the last line
      host_->request.batch_lines = batch_lines_;
      host_->request.noreply = false;
      host_->sampler.begin(*entry_, host_->request);
    }
    host_->store.batch(host_->worker, std::move(batch_), address(claim, entry_->replies.open()));
  }
  batch_.reset();
  keep_no_more();
  state_.end_batch();
  return true;
}

void Session::drop_batch() noexcept {
  if (batch_ != nullptr) {
    batch_->abandon(host_->worker);
    batch_.reset();
  }
}

}  // namespace mxkv::server
