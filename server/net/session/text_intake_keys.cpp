// TextIntake's functions for gets and sets, many at once, and for lines of many keys.
#include <algorithm>

#include "protocol/reply.hpp"
#include "runtime/base/assert.hpp"
#include "server/net/session/text_intake.hpp"

namespace mxkv::server {

// Takes usual lines of get and mg together, so that common state is looked up only once. A line of the sample
// goes the long way. So does a line whose beginning was searched before.
std::size_t TextIntake::take_gets(SessionParts& parts, std::string_view data) {
  SessionCore& core = parts.core;
  const std::span<protocol::AskedKey> keys = std::span{core.host->gets}.first(
      std::min<std::size_t>(core.host->gets.size(), parts.meter.allowed(core)));
  const protocol::GetLines taken = protocol::take_get_lines(
      data.data(), data.size(), core.host->parser.limits(), keys, core.host->sampler.lines_before());
  if (taken.keys != 0) {
    parts.meter.allowance().take(static_cast<std::uint32_t>(taken.keys));
    core.host->sampler.pass(taken.lines);
    core.note_last(keys[taken.keys - 1].meta() ? protocol::verb::meta_get : protocol::verb::get);
    parts.launcher.start_gets(core, keys.first(taken.keys), false);
  }
  return taken.consumed;
}

// Takes usual sets whose values have come with them. Sets that find no memory, or have to be ordered by key,
// go the long way.
std::size_t TextIntake::take_sets(SessionParts& parts, std::string_view data) {
  SessionCore& core = parts.core;
  const std::size_t most = static_cast<std::size_t>(std::min<std::uint64_t>(
      {core.host->sets.size(), parts.meter.allowed(core), core.host->sampler.lines_before()}));
  if (!core.entry->order.keys_untracked(operation_kind::write) || !core.entry->replies.opens_in_row(most)) {
    return 0;
  }
  const protocol::ParserLimits& limits = core.host->parser.limits();
  const std::span<protocol::SentValue> found = std::span{core.host->sets}.first(protocol::take_set_lines(
      data.data(), data.size(), limits, std::min<std::size_t>(kInlineValueBytes, limits.value_bytes),
      std::span{core.host->sets}.first(most)));
  const std::size_t taken =
      found.empty() ? 0 : Launcher::start_sets(core, found, core.entry->replies.open_row(found.size()));
  parts.meter.allowance().take(static_cast<std::uint32_t>(taken));
  core.host->sampler.pass(taken);
  if (taken == 0) {
    return 0;
  }
  const protocol::SentValue& last = found[taken - 1];
  core.note_last(last.meta ? protocol::verb::meta_set : protocol::verb::set);
  return static_cast<std::size_t>(last.end() - data.data());
}

// Takes key by key until the line or the allowance ends. Limits count each key as a request.
std::size_t TextIntake::take_keys(SessionParts& parts, std::string_view data) {
  SessionCore& core = parts.core;
  MXKV_ASSERT(keys_.bytes <= data.size(), "a line of keys is held until its end");
  const std::string_view line = data.substr(0, keys_.bytes);
  if (!keys_.each.terms.touches) {
    return take_keys_of_get(parts, line);
  }
  std::string_view keys = line;
  while (parts.meter.may_take(core)) {
    const std::string_view key = protocol::next_key(keys);
    if (key.empty()) {
      core.answer(protocol::kEnd);
      core.state.end_keys();
      return line.size() + keys_.end_bytes;
    }
    keys_.each.key = key;
    parts.launcher.start_any(core, keys_.each, false);
  }
  keys_.bytes = keys.size();
  return line.size() - keys.size();
}

// The last key's reply includes the END.
std::size_t TextIntake::take_keys_of_get(SessionParts& parts, std::string_view line) {
  SessionCore& core = parts.core;
  std::string_view keys = line.substr(0, line.find_last_not_of(' ') + 1);
  const std::size_t behind = line.size() - keys.size();
  while (const std::size_t most = std::min<std::size_t>(core.host->gets.size(), parts.meter.allowed(core))) {
    std::size_t found = 0;
    do {
      const std::string_view key = protocol::next_key(keys);
      MXKV_ASSERT(!key.empty(), "a line of keys ends with its last one");
      core.host->gets[found++] = {key.data(), static_cast<std::uint8_t>(key.size()),
                                  keys.empty() ? protocol::asked::last : protocol::asked::before_others};
    } while (found < most && !keys.empty());
    parts.meter.allowance().take(static_cast<std::uint32_t>(found));
    parts.launcher.start_gets(core, std::span{core.host->gets}.first(found),
                              keys_.each.op == protocol::verb::gets);
    if (keys.empty()) {
      core.state.end_keys();
      return line.size() + keys_.end_bytes;
    }
  }
  keys_.bytes = keys.size() + behind;
  return line.size() - keys_.bytes;
}

}  // namespace mxkv::server
