#include "server/store/range/plain_run.hpp"

#include <algorithm>
#include <cstring>

#include "index/lookup_task.hpp"
#include "server/store/core/store_task.hpp"

namespace mxkv::server {

namespace {

using index::detail::kRecordsAhead;

/// Ends an entry and begins the next one, in one store.
constexpr std::string_view kBetween = "\r\nVALUE ";
constexpr std::string_view kVerb = kBetween.substr(protocol::kCrLf.size());
static_assert(kBetween.size() == sizeof(std::uint64_t));
constexpr std::size_t kLeastKey = 16;
constexpr std::size_t kMostKey = 32;

/// Does prefetch_record(). Items of three lines, such as those with values of 100 bytes, have the short way.
[[gnu::always_inline]] inline void ask_for(std::uint64_t value) noexcept {
  const unsigned lines = ItemRecord::lines(value);
  const void* const first = ItemRecord::address(value);
  if (lines == 3) [[likely]] {
    runtime::prefetch_read(first);
    runtime::prefetch_line(first, 1);
    runtime::prefetch_line(first, 2);
  } else if (lines < 3) {
    runtime::prefetch_few(first, [lines](unsigned n) { return lines > n; });
  } else {
    index::detail::prefetch_record<ItemTraits>(value);
  }
}

}  // namespace

bool PlainForm::take(Item::View item) noexcept {
  const std::size_t key = item.key_length();
  const std::size_t value = item.inline_length();
  if (!item.plain() || key - kLeastKey > kMostKey - kLeastKey || value > PlainRun::kMostValueBytes) {
    return false;
  }
  of = item.form();
  key_bytes = static_cast<std::uint8_t>(key);
  value_bytes = static_cast<std::uint16_t>(value);
  char* const end =
      protocol::write_text(protocol::write_number(protocol::write_text(tail, " 0 "), value), protocol::kCrLf);
  before_value = static_cast<std::uint8_t>(key + static_cast<std::size_t>(end - tail));
  return true;
}

void PlainRun::write(const RangeState& state, PlainForm& last) noexcept {
  const std::uint64_t* next = at;
  const std::uint64_t* const stop = at + std::min<std::uint64_t>(static_cast<std::uint64_t>(end - at),
                                                                 bytes_left / (kMostKey + kMostValueBytes));
  const std::uint64_t* const ask_stop = asked_end - std::min<std::ptrdiff_t>(asked_end - at, kRecordsAhead);
  const std::uint64_t gone = flushed;
  const std::uint64_t shown = newest;
  const bool bounded = state.is_bounded();
  const bool some_only = bounded || gone != 0 || shown != WorkerContext::kNoHorizon;
  std::uint64_t bytes = bytes_left;
  std::memcpy(out, kVerb.data(), kVerb.size());
  char* to = out + kVerb.size();  // of an entry's key, while the loop runs
  const std::uintptr_t limit = reinterpret_cast<std::uintptr_t>(out) + room - kAroundValue;
  PlainForm form = last;
  std::size_t key_bytes = form.key_bytes;
  std::size_t value_bytes = form.value_bytes;
  std::size_t both = key_bytes + value_bytes;
  std::size_t before_value = form.before_value;
  std::uintptr_t last_start = limit - value_bytes;  // an entry begins here at the latest
  for (; next != stop; ++next) {
    if (next < ask_stop) {
      ask_for(next[kRecordsAhead]);
    }
    const Item::View item{*ItemRecord::item(*next)};
    if (item.form() != form.of) [[unlikely]] {
      if (!form.take(item)) {
        break;
      }
      key_bytes = form.key_bytes;
      value_bytes = form.value_bytes;
      both = key_bytes + value_bytes;
      before_value = form.before_value;
      last_start = limit - value_bytes;
      last = form;
    }
    if (reinterpret_cast<std::uintptr_t>(to) > last_start) [[unlikely]] {
      break;
    }
    const char* const key = item.plain_begin();
    if (some_only && (item.order() <= gone || item.order() > shown ||
                      (bounded && state.beyond({key, key_bytes})))) [[unlikely]] {
      break;
    }
    if (!protocol::copy_key_to_32(to, key, key_bytes)) [[unlikely]] {
      break;
    }
    bytes -= both;
    std::memcpy(to + key_bytes, form.tail, sizeof form.tail);  // the value is written over
    to = protocol::write_middling_text(to + before_value, {key + key_bytes, value_bytes});
    std::memcpy(to, kBetween.data(), kBetween.size());
    to += kBetween.size();
  }
  to -= kVerb.size();
  room -= static_cast<std::size_t>(to - out);
  out = to;
  at = next;
  bytes_left = bytes;
}

}  // namespace mxkv::server
