#include "server/net/session/launcher.hpp"

#include <utility>

#include "protocol/get_lines.hpp"
#include "runtime/base/assert.hpp"
#include "server/net/observe/key_hash.hpp"

namespace mxkv::server {

bool Launcher::starts_now(SessionCore& core, operation_kind kind, std::string_view key, OrderClaim& claim) {
  RequestOrder& order = core.entry->order;
  if (order.keys_untracked(kind)) [[likely]] {
    claim = order.start_untracked(kind);
    return true;
  }
  claim = OrderClaim{kind, hash_key(key)};
  return order.try_start(claim);
}

void Launcher::start_any(SessionCore& core, const protocol::PointRequest& request, bool silent) {
  start(core, request, kind_of(request), nullptr, silent);
}

void Launcher::start_gets(SessionCore& core, std::span<const protocol::AskedKey> keys, bool with_cas) {
  ReplyQueue& replies = core.entry->replies;
  if (core.entry->order.keys_untracked(operation_kind::read) && replies.opens_in_row(keys.size()))
      [[likely]] {
    const OrderClaim claim = core.entry->order.start_untracked(operation_kind::read, keys.size());
    core.host->store.get(core.host->worker, keys, with_cas,
                         core.address(claim, replies.open_row(keys.size())));
    return;
  }
  const protocol::verb op = with_cas ? protocol::verb::gets : protocol::verb::get;
  for (const protocol::AskedKey& key : keys) {
    if (key.meta()) {
      start_any(core, protocol::usual_meta_get(key.view()), false);
      continue;
    }
    start(core, {.key = key.view(), .op = op, .end_line = key.ends_line()}, operation_kind::read, nullptr,
          false);
  }
}

std::size_t Launcher::start_sets(SessionCore& core, std::span<const protocol::SentValue> values,
                                 std::uint32_t ticket) {
  const OrderClaim claim = core.entry->order.start_untracked(operation_kind::write, values.size());
  const CommitSeq seq = core.entry->commits.start_row(values.size());
  const std::size_t taken = core.host->store.set(core.host->worker, values, core.address(claim, ticket), seq);
  if (const std::size_t left = values.size() - taken; left != 0) [[unlikely]] {
    core.entry->order.take_back(left);
    core.entry->commits.take_back(left);
    if (ticket != ReplyAddress::kNoTicket) {
      core.entry->replies.take_back(left);
    }
  }
  return taken;
}

void Launcher::enqueue(SessionCore& core, const protocol::PointRequest& request, ItemBuilder* value,
                       OrderClaim claim, std::uint32_t ticket) {
  MXKV_ASSERT((first_waiting_ == nullptr) == (core.waiting == 0), "the count and the list agree");
  core.entry->order.add_waiting(claim);
  Waiting* const waiting = core.host->waiting.take();
  waiting->claim = claim;
  waiting->ticket = ticket;
  waiting->hold(request, value);
  (first_waiting_ == nullptr ? first_waiting_ : last_waiting_->next) = waiting;
  last_waiting_ = waiting;
  ++core.waiting;
}

bool Launcher::start_waiting(SessionCore& core) {
  if (first_waiting_ == nullptr) [[likely]] {
    return false;
  }
  core.entry->order.begin_pass();
  const std::size_t before = core.waiting;
  last_waiting_ = nullptr;
  for (Waiting** link = &first_waiting_; *link != nullptr;) {
    Waiting* const waiting = *link;
    if (!core.entry->order.try_start(waiting->claim)) {
      core.entry->order.add_waiting(waiting->claim);
      last_waiting_ = waiting;
      link = &waiting->next;
      continue;
    }
    *link = waiting->next;
    --core.waiting;
    launch(core, waiting->request(), waiting->claim.kind(), waiting->value(),
           core.address(waiting->claim, waiting->ticket));
    core.host->waiting.give(waiting);
  }
  MXKV_ASSERT((first_waiting_ == nullptr) == (core.waiting == 0), "the count and the list agree");
  return core.waiting != before;
}

void Launcher::drop(SessionCore& core) noexcept {
  while (first_waiting_ != nullptr) {
    Waiting* const waiting = std::exchange(first_waiting_, first_waiting_->next);
    if (ItemBuilder* const value = waiting->value()) {
      value->abandon(core.host->worker);
    }
    core.host->waiting.give(waiting);
  }
  core.waiting = 0;
}

}  // namespace mxkv::server
