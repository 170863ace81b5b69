#include "server/net/session/batch_intake.hpp"

#include <utility>

#include "protocol/reply.hpp"
#include "runtime/base/assert.hpp"
#include "server/net/session/value_intake.hpp"
#include "server/net/users/rights.hpp"

namespace mxkv::server {

namespace {
/// Memory of a line without its value.
constexpr std::size_t kBatchLineBytes = 704;
}  // namespace

void BatchIntake::begin(SessionCore& core, std::uint32_t lines) {
  MXKV_ASSERT(batch_ == nullptr, "batches do not nest");
  batch_ = core.host->store.begin_batch(lines);
  lines_ = 0;
  bytes_ = 0;
  core.state.begin_batch();
}

std::size_t BatchIntake::take(SessionCore& core, ValueIntake& values, const protocol::Parsed& parsed) {
  const protocol::Request& request = core.host->request;
  const bool has_block = parsed.what == protocol::outcome::request && protocol::takes_value(request.op);
  const std::uint64_t block = has_block ? request.value_bytes + protocol::kCrLf.size() : parsed.swallow;
  std::string_view flaw = flaw_of(core, parsed, request);
  if (flaw.empty() && !batch_->failed() &&
      !core.host->has_input_room(kBatchLineBytes, core.held.view().size() + kept_, *core.entry, true)) {
    // A client whose batch is refused tries again. One whose connection was closed for another's batch could not.
    core.host->store.count_no_memory(core.host->worker);
    flaw = protocol::kOutOfMemory;
  }
  const bool wanted = flaw.empty() && !batch_->failed();
  if (wanted && has_block && !values.begin(core, request, true)) {
    return 0;
  }
  ++lines_;
  if (wanted) {
    keep(core, kBatchLineBytes);
  } else if (!batch_->failed()) {
    keep_no_more(core);
  }
  bytes_ += has_block ? request.value_bytes : 0;
  if (wanted && has_block) {
    return parsed.consumed;
  }
  if (wanted) {
    batch_->add(core.host->worker, protocol::point_request(request), nullptr);
    return parsed.consumed;
  }
  batch_->fail(core.host->worker, flaw);
  if (block > 0) {
    values.swallow(core, block, {});
  } else if (parsed.length_unknown) {
    refuse(core);
    core.drain_in_error();
  }
  return parsed.consumed;
}

void BatchIntake::add(SessionCore& core, ItemBuilder& value) {
  batch_->add(core.host->worker, value.request(), &value);
}

void BatchIntake::fail(SessionCore& core, std::string_view error) {
  batch_->fail(core.host->worker, error);
  keep_no_more(core);
}

// Why the batch cannot have this line as its next; empty: it can.
std::string_view BatchIntake::flaw_of(SessionCore& core, const protocol::Parsed& parsed,
                                      const protocol::Request& request) const {
  if (lines_ >= core.host->limits.batch_lines) {
    return protocol::kBatchLines;
  }
  if (parsed.what == protocol::outcome::error) {
    if (parsed.too_large) {
      core.host->store.count_too_large(core.host->worker);
    }
    return parsed.error.empty() ? protocol::kNotInBatch : parsed.error;
  }
  if (!protocol::may_stand_in_batch(request.op)) {
    return protocol::kNotInBatch;
  }
  if (core.limited && !permits(*core.user(), request)) [[unlikely]] {
    core.count_forbidden(request);
    return protocol::kForbidden;
  }
  const bool too_much =
      protocol::takes_value(request.op) && bytes_ + request.value_bytes > core.host->limits.batch_bytes;
  return too_much ? protocol::kBatchBytes : std::string_view{};
}

// Nothing of the batch was executed, so its refusal need not wait for earlier requests.
void BatchIntake::refuse(SessionCore& core) {
  MXKV_ASSERT(batch_->failed(), "a batch is refused when a line of it was");
  const std::uint32_t ticket = core.entry->replies.open();
  batch_->answer(&core.entry->replies, ticket, core.host->worker);
  core.entry->replies.close(ticket);
  core.host->directory.mark_dirty(*core.entry);
}

bool BatchIntake::started(SessionCore& core) {
  MXKV_ASSERT(batch_->missing() == 0, "a batch starts when all of its lines came");
  if (batch_->failed()) {
    refuse(core);
  } else {
    const OrderClaim claim{operation_kind::barrier, 0};
    if (!core.entry->order.try_start(claim)) {
      core.pauses.add(pause::order);
      return false;
    }
    if (core.host->sampler.due()) [[unlikely]] {
      core.host->request.op = protocol::verb::meta_batch;  // its other fields are left from the last line
      core.host->request.batch_lines = lines_;
      core.host->request.noreply = false;
      core.host->sampler.begin(*core.entry, core.host->request);
    }
    core.host->store.batch(core.host->worker, std::move(batch_),
                           core.address(claim, core.entry->replies.open()));
  }
  batch_.reset();
  keep_no_more(core);
  core.state.end_batch();
  return true;
}

void BatchIntake::drop(SessionCore& core) noexcept {
  if (batch_ != nullptr) {
    batch_->abandon(core.host->worker);
    batch_.reset();
  }
  keep_no_more(core);
}

void BatchIntake::keep(SessionCore& core, std::size_t bytes) noexcept {
  MXKV_ASSERT(batch_ != nullptr, "bytes are kept of a batch");
  kept_ += bytes;
  core.host->input.share().take(bytes);
}

void BatchIntake::keep_no_more(SessionCore& core) noexcept {
  MXKV_ASSERT(kept_ <= core.host->input.share().held(), "the share counts what its sessions keep");
  core.host->input.share().give(kept_);
  kept_ = 0;
}

}  // namespace mxkv::server
