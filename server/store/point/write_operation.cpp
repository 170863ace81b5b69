#include "server/store/point/write_operation.hpp"

#include "protocol/reply.hpp"
#include "runtime/base/paths.hpp"
#include "server/store/core/store_state.hpp"
#include "server/store/item/derived_items.hpp"
#include "server/store/item/expiry.hpp"
#include "server/store/point/binary_reply.hpp"
#include "server/store/point/text_reply.hpp"

namespace mxkv::server {

using index::Decision;
using protocol::value_effect;

PointLimits WriteOperation::joined_limits(runtime::Worker& worker) noexcept {
  return {.value_bytes = worker.local<WorkerContext>().store->value_limit()};
}

// Whatever needs no more memory than the old item goes on: a client of a full quota can still change its items.
void WriteOperation::refuse_growth(const Item* old, runtime::Worker& worker) noexcept {
  const auto& context = worker.local<WorkerContext>();
  over_quota_ = false;
  if (!context.store->quotas()->refuses(request_.key, *context.quotas)) {
    return;
  }
  bool grows = old == nullptr;
  if (decision_.source == item_source::sent || decision_.source == item_source::sent_stale) {
    grows = old == nullptr || item_->memory_bytes() > old->memory_bytes();
  } else if (decision_.source == item_source::appended || decision_.source == item_source::prepended) {
    grows = item_->value_bytes() > 0;
  }
  over_quota_ = decision_.fate == entry_fate::replaced && grows;
  if (over_quota_) {
    MXKV_PATH(write_over_quota);
    decision_ = leaves(point_result::no_memory);
  }
}

// Builds the item of the decision, and tells the tree what to do.
Decision WriteOperation::build(Item* live_old, runtime::Worker& worker) {
  if (tells_findings()) {
    note_findings(live_old, Moment{worker});
  }
  shown_ = protocol::effect_of(request_.terms.action) == value_effect::none ? live_old : nullptr;
  switch (decision_.fate) {
    case entry_fate::stays:
      return {};
    case entry_fate::removed:
      return {Decision::what::remove, 0};
    case entry_fate::changed_in_place:
      MXKV_DCHECK(live_old != nullptr, "only a live item is changed in place");
      return {Decision::what::in_place, 0};
    case entry_fate::replaced:
      break;
  }
  if (puts_sent()) {
    return {Decision::what::put, ItemRecord::word(item_)};
  }
  MXKV_DCHECK(built_ == nullptr, "what was built before is dropped before it is decided again");
  built_ = make(live_old, worker);
  if (built_ == nullptr) {
    set_lacks_memory();
    return {};
  }
  return {Decision::what::put, ItemRecord::word(built_)};
}

void WriteOperation::note_findings(const Item* old, const Moment& moment) noexcept {
  MetaFindings& findings = meta_->findings;
  const MetaFindings before = findings;
  findings = old != nullptr ? MetaFindings::of(*old) : MetaFindings{};
  if (old != nullptr && before.order == old->order()) {
    findings.accessed = before.accessed;  // this command's own access may have been noted since
    findings.last_access_us = before.last_access_us;
  }
  const protocol::MetaFlags& flags = meta_->flags;
  if (flags.has_exptime) {
    findings.touched_expiry = expiry_from(flags.exptime, moment);
  }
  findings.won = decision_.wins;
  findings.made = decision_.makes;
  if (decision_.makes) {
    findings.made_expiry = expiry_from(flags.vivify_exptime, moment);
    findings.last_access_us = moment.now_us;
  }
}

/// Makes the item of the decision from the live one; null: out of memory.
Item* WriteOperation::make(const Item* old, runtime::Worker& worker) const noexcept {
  const std::uint64_t* const cas =
      request_.has_flags() && request_.flags->cas != 0 ? &request_.flags->cas : nullptr;
  switch (decision_.source) {
    case item_source::appended:
      return join_values(worker, *old, *old, *item_, cas);
    case item_source::prepended:
      return join_values(worker, *old, *item_, *old, cas);
    case item_source::sent_stale:
      return with_marks(worker, *item_, decision_.expiry, decision_.marks, cas);
    case item_source::old_value:
      return with_marks(worker, *old, decision_.expiry, decision_.marks, cas);
    case item_source::old_version: {
      Item* const made = with_expiry(worker, *old, decision_.expiry);
      if (made != nullptr && decision_.wins) {
        made->set_mark(Item::kWon);
      }
      return made;
    }
    case item_source::empty:
      return make_new({}, 0, worker);
    case item_source::number: {
      char text[protocol::kMaxDigits];
      const char* const end = protocol::write_number(text, decision_.number);
      const std::string_view value{text, static_cast<std::size_t>(end - text)};
      if (!request_.has_flags()) {
        return with_value(worker, *old, value);
      }
      Item* const made = make_new(value, old != nullptr ? old->flags() : 0, worker);
      if (made != nullptr && old != nullptr) {
        made->take_access(*old);
      }
      return made;
    }
    case item_source::none:
    case item_source::sent:
      break;
  }
  MXKV_ASSERT(false, "what is put is made of something");
}

Item* WriteOperation::make_new(std::string_view value, std::uint32_t flags,
                               runtime::Worker& worker) const noexcept {
  const protocol::MetaFlags& meta = *request_.flags;
  Item* const made = Item::create(worker, {.key = key(),
                                           .value_bytes = value.size(),
                                           .flags = flags,
                                           .expiry = decision_.expiry,
                                           .marks = decision_.marks,
                                           .cas_field = meta.cas != 0,
                                           .cas = meta.cas});
  if (made != nullptr) {
    protocol::write_text(made->value_begin(), value);
  }
  return made;
}

void WriteOperation::change_in_place(Item& item) const noexcept {
  MXKV_DCHECK(decision_.fate == entry_fate::changed_in_place, "only what was decided");
  if (decision_.wins) {
    item.set_mark(Item::kWon);
  }
  if (request_.terms.touches && item.has_expiry_field()) {
    item.store_expiry(decision_.expiry);
  }
}

void WriteOperation::answer_client(ReplyQueue* queue, std::uint32_t ticket, runtime::Worker& worker) {
  if (protocol::effect_of(request_.terms.action) == value_effect::none) {
    note_read(worker);
  }
  if (queue == nullptr) {
    return;
  }
  if (!request_.has_flags()) [[likely]] {
    // The two most common results.
    if (decision_.result == point_result::stored) {
      write_result<point_result::stored>(*queue, ticket);
      return;
    }
    if (decision_.result == point_result::deleted) {
      write_result<point_result::deleted>(*queue, ticket);
      return;
    }
  }
  write_reply(*queue, ticket, worker);
}

void WriteOperation::write_reply(ReplyQueue& queue, std::uint32_t ticket, runtime::Worker& worker) const {
  const PointOutcome outcome{.request = request_,
                             .result = decision_.result,
                             .number = decision_.number,
                             .shown = shown_,
                             .sent = item_,
                             .findings = meta_ != nullptr ? &meta_->findings : nullptr};
  if (request_.is_binary()) {
    write_binary_reply(queue, ticket, outcome, worker);
  } else if (request_.is_meta() && !outcome.is_error()) {
    write_meta_reply(queue, ticket, outcome, worker);
  } else {
    write_text_reply(queue, ticket, outcome, worker);
  }
}

void WriteOperation::note_read(runtime::Worker& worker) const noexcept {
  if (shown_ != nullptr && !(request_.has_flags() && request_.flags->no_bump)) {
    shown_->note_access(worker.now_us());
  }
}

}  // namespace mxkv::server
