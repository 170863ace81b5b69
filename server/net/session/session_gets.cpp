// Session's functions for gets and sets, many at once, and for lines of many keys.
#include <algorithm>

#include "protocol/reply.hpp"
#include "runtime/base/assert.hpp"
#include "server/net/session/session.hpp"

namespace mxkv::server {

// Takes usual lines of get and mg together, so that common state is looked up only once. A line of the sample
// goes the long way. So does a line whose beginning was searched before.
std::size_t Session::take_gets(std::string_view data) {
  const std::span<protocol::AskedKey> keys =
      std::span{host_->gets}.first(std::min<std::size_t>(host_->gets.size(), allowed()));
  const protocol::GetLines taken = protocol::take_get_lines(data.data(), data.size(), host_->parser.limits(),
                                                            keys, host_->sampler.lines_before());
  if (taken.keys != 0) {
    allowance_.take(static_cast<std::uint32_t>(taken.keys));
    host_->sampler.pass(taken.lines);
    note_last(keys[taken.keys - 1].meta() ? protocol::verb::meta_get : protocol::verb::get);
    start_gets(keys.first(taken.keys), false);
  }
  return taken.consumed;
}

// Takes usual sets whose values have come with them. Sets that find no memory, or have to be ordered by key,
// go the long way.
std::size_t Session::take_sets(std::string_view data) {
  const std::size_t most = static_cast<std::size_t>(
      std::min<std::uint64_t>({host_->sets.size(), allowed(), host_->sampler.lines_before()}));
  if (!entry_->order.keys_untracked(operation_kind::write) || !entry_->replies.opens_in_row(most)) {
    return 0;
  }
  const protocol::ParserLimits& limits = host_->parser.limits();
  const std::span<protocol::SentValue> found = std::span{host_->sets}.first(protocol::take_set_lines(
      data.data(), data.size(), limits, std::min<std::size_t>(kInlineValueBytes, limits.value_bytes),
      std::span{host_->sets}.first(most)));
  const std::size_t taken = found.empty() ? 0 : start_sets(found, entry_->replies.open_row(found.size()));
  allowance_.take(static_cast<std::uint32_t>(taken));
  host_->sampler.pass(taken);
  if (taken == 0) {
    return 0;
  }
  const protocol::SentValue& last = found[taken - 1];
  note_last(last.meta ? protocol::verb::meta_set : protocol::verb::set);
  return static_cast<std::size_t>(last.end() - data.data());
}

// Returns how many sets started. For the others there was no memory. `ticket`: of the first one.
std::size_t Session::start_sets(std::span<const protocol::SentValue> values, std::uint32_t ticket) {
  const OrderClaim claim = entry_->order.start_untracked(operation_kind::write, values.size());
  const CommitSeq seq = entry_->commits.start_row(values.size());
  const std::size_t taken = host_->store.set(host_->worker, values, address(claim, ticket), seq);
  if (const std::size_t left = values.size() - taken; left != 0) [[unlikely]] {
    entry_->order.take_back(left);
    entry_->commits.take_back(left);
    if (ticket != ReplyAddress::kNoTicket) {
      entry_->replies.take_back(left);
    }
  }
  return taken;
}

void Session::start_gets(std::span<const protocol::AskedKey> keys, bool with_cas) {
  ReplyQueue& replies = entry_->replies;
  if (entry_->order.keys_untracked(operation_kind::read) && replies.opens_in_row(keys.size())) [[likely]] {
    const OrderClaim claim = entry_->order.start_untracked(operation_kind::read, keys.size());
    host_->store.get(host_->worker, keys, with_cas, address(claim, replies.open_row(keys.size())));
    return;
  }
  const protocol::verb op = with_cas ? protocol::verb::gets : protocol::verb::get;
  for (const protocol::AskedKey& key : keys) {
    if (key.meta()) {
      start_any(protocol::usual_meta_get(key.view()), false);
      continue;
    }
    start({.key = key.view(), .op = op, .end_line = key.ends_line()}, operation_kind::read, nullptr, false);
  }
}

// Takes key by key until the line or the allowance ends. Limits count each key as a request.
std::size_t Session::take_keys(std::string_view data) {
  MXKV_ASSERT(keys_.bytes <= data.size(), "a line of keys is held until its end");
  const std::string_view line = data.substr(0, keys_.bytes);
  if (!keys_.each.terms.touches) {
    return take_keys_of_get(line);
  }
  std::string_view keys = line;
  while (may_take()) {
    const std::string_view key = protocol::next_key(keys);
    if (key.empty()) {
      answer(protocol::kEnd);
      state_.end_keys();
      return line.size() + keys_.end_bytes;
    }
    keys_.each.key = key;
    start_any(keys_.each, false);
  }
  keys_.bytes = keys.size();
  return line.size() - keys.size();
}

// The last key's reply includes the END.
std::size_t Session::take_keys_of_get(std::string_view line) {
  std::string_view keys = line.substr(0, line.find_last_not_of(' ') + 1);
  const std::size_t behind = line.size() - keys.size();
  while (const std::size_t most = std::min<std::size_t>(host_->gets.size(), allowed())) {
    std::size_t found = 0;
    do {
      const std::string_view key = protocol::next_key(keys);
      MXKV_ASSERT(!key.empty(), "a line of keys ends with its last one");
      host_->gets[found++] = {key.data(), static_cast<std::uint8_t>(key.size()),
                              keys.empty() ? protocol::asked::last : protocol::asked::before_others};
    } while (found < most && !keys.empty());
    allowance_.take(static_cast<std::uint32_t>(found));
    start_gets(std::span{host_->gets}.first(found), keys_.each.op == protocol::verb::gets);
    if (keys.empty()) {
      state_.end_keys();
      return line.size() + keys_.end_bytes;
    }
  }
  keys_.bytes = keys.size() + behind;
  return line.size() - keys_.bytes;
}

}  // namespace mxkv::server
