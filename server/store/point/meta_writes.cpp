// The meta commands among a WriteOperation's: what the flags of mg, ms, md and ma make of an item, and the
// answer (protocol rules 31-35).
#include "protocol/reply.hpp"
#include "server/store/item/derived_items.hpp"
#include "server/store/point/meta_decisions.hpp"
#include "server/store/point/write_operation.hpp"
#include "server/store/store_state.hpp"

namespace mxkv::server {

using index::Decision;
using protocol::meta_code;
using protocol::MetaFlags;
using protocol::verb;

namespace {

/// The unique that the client chose, or null.
const std::uint64_t* chosen_unique(const MetaFlags& flags) noexcept {
  return flags.has_unique ? &flags.unique : nullptr;
}

std::uint32_t key_mark(const MetaFlags& flags) noexcept {
  return flags.binary_key ? std::uint32_t{Item::kBinary} : 0U;
}

bool differs(const Item& item, const MetaFlags& flags) noexcept {
  return flags.has_compare && item.unique() != flags.compare;
}

}  // namespace

Decision WriteOperation::decide_meta(bool live, Item* old, runtime::Worker& worker) {
  const MetaFindings before = meta_->findings;
  meta_->findings = live ? MetaFindings::of(*old) : MetaFindings{};
  if (live && before.cas == old->cas()) {
    meta_->findings.accessed = before.accessed;  // since then it may be the command's own access
    meta_->findings.last_access_us = before.last_access_us;
  }
  if (meta_->flags.has_exptime) {
    meta_->findings.touched_expiry = expiry_from(meta_->flags.exptime, Moment{worker});
  }
  shown_ = nullptr;
  switch (request_.op) {
    case verb::meta_get:
      return decide_meta_get(live, old, worker);
    case verb::meta_delete:
      return decide_meta_delete(live, old, worker);
    case verb::meta_arithmetic:
      return decide_meta_arithmetic(live, old, worker);
    default:
      return decide_meta_set(live, old, worker);
  }
}

Item* WriteOperation::make_for_meta(std::string_view value, std::uint32_t flags, std::uint32_t expiry,
                                    std::uint32_t marks, runtime::Worker& worker) noexcept {
  const MetaFlags& meta = meta_->flags;
  Item* made = Item::create(worker, {.key = key(),
                                     .value_bytes = value.size(),
                                     .flags = flags,
                                     .expiry = expiry,
                                     .marks = marks,
                                     .unique_field = meta.has_unique,
                                     .unique = meta.unique});
  if (made != nullptr) {
    protocol::write_text(made->value_begin(), value);
  }
  return made;
}

Decision WriteOperation::decide_meta_get(bool live, Item* old, runtime::Worker& worker) {
  const MetaFlags& flags = meta_->flags;
  MetaFindings& findings = meta_->findings;
  const Moment moment{worker};
  if (!live) {
    if (!flags.vivify) {
      return leave(result::not_found);
    }
    findings.made = true;
    findings.won = true;
    findings.last_access_us = moment.now_us;
    findings.made_expiry = expiry_from(flags.vivify_exptime, moment);
    Item* made =
        make_for_meta({}, 0, expiry_after(flags, 0, true, moment), key_mark(flags) | Item::kWon, worker);
    return made == nullptr ? leave(result::no_memory) : put(made, result::value);
  }
  findings.won = grants_recache(*old, flags, moment);
  if (!findings.won) {
    findings.sent = old->marked(Item::kWon);  // another one may have won it since it was looked at
  }
  shown_ = old;
  const bool moves = flags.has_exptime && findings.touched_expiry != old->expiry();
  if (moves && !old->has_expiry_field()) {
    Item* changed = with_expiry(worker, *old, findings.touched_expiry);
    if (changed == nullptr) {
      return leave(result::no_memory);
    }
    if (findings.won) {
      changed->set_mark(Item::kWon);
    }
    return put(changed, result::value);
  }
  result_ = result::value;
  return moves || findings.won ? Decision{Decision::what::in_place, 0} : Decision{};
}

Decision WriteOperation::decide_meta_set(bool live, Item* old, runtime::Worker& worker) {
  const MetaFlags& flags = meta_->flags;
  const bool joins = flags.mode == 'A' || flags.mode == 'P';
  if (!live) {
    if (flags.mode == 'R' && !flags.has_compare) {
      return leave(result::not_stored);
    }
    if (joins && !flags.vivify) {
      return leave(result::not_stored);
    }
    if (flags.has_compare && !joins && flags.mode != 'E') {
      return leave(result::not_found);
    }
    return put(item_, result::stored);
  }
  if (flags.mode == 'E') {
    return leave(result::not_stored);
  }
  if (differs(*old, flags)) {
    if (joins || !flags.invalidate || flags.compare > old->unique()) {
      return leave(result::exists);
    }
    // A value made from an older one is better than none, but somebody is to make a newer one.
    Item* stale =
        with_marks(worker, *item_, old->expiry(),
                   key_mark(flags) | Item::kStale | (old->marks() & Item::kWon), chosen_unique(flags));
    return stale == nullptr ? leave(result::no_memory) : put(stale, result::stored);
  }
  if (!joins) {
    return put(item_, result::stored);
  }
  if (old->value_bytes() + item_->value_bytes() > worker.local<WorkerContext>().store->value_limit()) {
    return leave(result::too_large);
  }
  Item* joined = flags.mode == 'A' ? join_values(worker, *old, *old, *item_, chosen_unique(flags))
                                   : join_values(worker, *old, *item_, *old, chosen_unique(flags));
  return joined == nullptr ? leave(result::no_memory) : put(joined, result::stored);
}

Decision WriteOperation::decide_meta_delete(bool live, Item* old, runtime::Worker& worker) {
  const MetaFlags& flags = meta_->flags;
  if (!live) {
    result_ = result::not_found;
    return old == nullptr ? Decision{} : Decision{Decision::what::remove, 0};
  }
  if (differs(*old, flags)) {
    return leave(result::exists);
  }
  if (!flags.invalidate && !flags.remove_value) {
    result_ = result::deleted;
    return {Decision::what::remove, 0};
  }
  const Moment moment{worker};
  const std::uint32_t binary = old->marks() & Item::kBinary;
  const std::uint32_t marks = binary | (flags.invalidate ? Item::kStale : 0U);
  Item* changed = nullptr;
  if (flags.remove_value) {
    changed = make_for_meta({}, 0, expiry_after(flags, 0, false, moment), marks, worker);
  } else {
    changed = with_marks(worker, *old, expiry_after(flags, old->expiry(), false, moment), marks,
                         chosen_unique(flags));
  }
  return changed == nullptr ? leave(result::no_memory) : put(changed, result::deleted);
}

Decision WriteOperation::decide_meta_arithmetic(bool live, Item* old, runtime::Worker& worker) {
  const MetaFlags& flags = meta_->flags;
  MetaFindings& findings = meta_->findings;
  const Moment moment{worker};
  number_ = flags.initial;
  if (!live) {
    if (!flags.vivify) {
      return leave(result::not_found);
    }
    findings.made = true;
    findings.made_expiry = expiry_from(flags.vivify_exptime, moment);
  } else {
    if (differs(*old, flags)) {
      return leave(result::exists);
    }
    if (!read_number(*old, number_)) {
      return leave(result::non_numeric);
    }
    number_ = flags.mode != 'D' ? number_ + flags.delta : (number_ > flags.delta ? number_ - flags.delta : 0);
  }
  char text[protocol::kMaxDigits];
  const char* end = protocol::write_number(text, number_);
  const std::string_view value{text, static_cast<std::size_t>(end - text)};
  const std::uint32_t expiry = expiry_after(flags, findings.expiry, findings.made, moment);
  Item* changed =
      make_for_meta(value, live ? old->flags() : 0, expiry, live ? old->marks() : key_mark(flags), worker);
  if (changed != nullptr && live) {
    changed->take_access(*old);
  }
  return changed == nullptr ? leave(result::no_memory) : put(changed, result::number);
}

void WriteOperation::write_meta_reply(ReplyQueue& queue, runtime::Worker& worker) {
  const MetaFlags& flags = meta_->flags;
  const bool good =
      result_ != result::not_found && result_ != result::not_stored && result_ != result::exists;
  if (flags.quiet && (request_.op == verb::meta_get ? !good : good)) {
    return;
  }
  const meta_code failed = result_ == result::exists       ? meta_code::exists
                           : result_ == result::not_stored ? meta_code::not_stored
                           : request_.op == verb::meta_get ? meta_code::miss
                                                           : meta_code::not_found;
  MetaAnswer answer = answer_of_miss(good ? meta_code::done : failed, key(), flags);
  MetaFindings findings;  // W, X and Z are mg's alone
  char text[protocol::kMaxDigits];
  switch (request_.op) {
    case verb::meta_set:
      answer.shows = "Okcs";
      answer.size = good ? shown_->value_bytes() : item_->value_bytes();
      answer.unique = good ? shown_->unique() : 0;
      break;
    case verb::meta_arithmetic:
      if (good) {
        const char* end = protocol::write_number(text, number_);
        answer.code = flags.value ? meta_code::value : meta_code::done;
        answer.shows = "Okct";
        answer.unique = shown_->unique();
        answer.number = {text, static_cast<std::size_t>(end - text)};
        findings = meta_->findings;
        findings.stale = findings.sent = findings.won = false;
      }
      break;
    case verb::meta_get:
      if (good) {
        answer = answer_of_get(*shown_, flags);
        findings = meta_->findings;
        if (!flags.no_bump) {
          shown_->note_access(worker.now_us());
        }
      }
      break;
    default:
      break;
  }
  write_meta(queue, address_.ticket, answer, flags, findings, worker);
}

}  // namespace mxkv::server
