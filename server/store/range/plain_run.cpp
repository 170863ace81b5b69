#include "server/store/range/plain_run.hpp"

#include <cstring>

#include "index/lookup_task.hpp"
#include "server/store/core/store_task.hpp"

namespace mxkv::server {

namespace {

using index::detail::kRecordsAhead;

constexpr std::string_view kVerb = "VALUE ";
constexpr std::size_t kLeastKey = 16;
constexpr std::size_t kMostKey = 32;

/// The common properties of entries with equal lengths.
struct Form {
  std::uint32_t of = 0;  ///< Item::View::form(); no usual item has 0
  std::size_t key_bytes = 0;
  std::size_t value_bytes = 0;
  std::size_t both = 0;          ///< bytes of key and value
  std::size_t need = 0;          ///< room for an entry
  std::size_t before_value = 0;  ///< bytes of the VALUE line
  char tail[16] = {};            ///< of the line, behind the key

  /// False: `item` is not usual.
  [[nodiscard]] bool take(const Item::View& item) noexcept {
    key_bytes = item.key_length();
    value_bytes = item.inline_length();
    if (!item.plain() || key_bytes - kLeastKey > kMostKey - kLeastKey ||
        value_bytes > PlainRun::kMostValueBytes) {
      return false;
    }
    of = item.form();
    both = key_bytes + value_bytes;
    need = kAroundValue + value_bytes;
    char* const end = protocol::write_text(
        protocol::write_number(protocol::write_text(tail, " 0 "), value_bytes), protocol::kCrLf);
    before_value = kVerb.size() + key_bytes + static_cast<std::size_t>(end - tail);
    return true;
  }
};

/// Does prefetch_record(), without a loop for items of up to three lines.
[[gnu::always_inline]] inline void ask_for(std::uint64_t value) noexcept {
  const unsigned lines = ItemRecord::lines(value);
  if (lines > 3) [[unlikely]] {
    index::detail::prefetch_record<ItemTraits>(value);
    return;
  }
  runtime::prefetch_few(ItemRecord::address(value), [lines](unsigned n) { return lines > n; });
}

}  // namespace

void PlainRun::write(const RangeState& state) noexcept {
  const std::uint64_t* next = at;
  const std::uint64_t* const stop = end;
  const std::uint64_t gone = flushed;
  const std::uint64_t shown = newest;
  const bool dated = gone != 0 || shown != WorkerContext::kNoHorizon;
  const std::uint64_t* const ask_stop = asked_end;
  const bool bounded = state.is_bounded();
  std::uint64_t bytes = bytes_left;
  char* to = out;
  char* const limit = out + room;
  Form form;
  for (; next != stop; ++next) {
    if (next + kRecordsAhead < ask_stop) {
      ask_for(next[kRecordsAhead]);
    }
    const Item::View item{*ItemRecord::item(*next)};
    if (item.form() != form.of && !form.take(item)) [[unlikely]] {
      break;
    }
    const std::string_view key{item.plain_begin(), form.key_bytes};
    if (form.both > bytes || static_cast<std::size_t>(limit - to) < form.need ||
        (dated && (item.order() <= gone || item.order() > shown)) || !protocol::all_key_bytes_to_32(key) ||
        (bounded && state.beyond(key))) [[unlikely]] {
      break;
    }
    bytes -= form.both;
    std::memcpy(to, kVerb.data(), kVerb.size());
    protocol::write_ends<kLeastKey>(to + kVerb.size(), key);
    std::memcpy(to + kVerb.size() + key.size(), form.tail, sizeof form.tail);  // the value is written over
    char* const value = to + form.before_value;
    to = protocol::write_middling_text(value, {key.data() + key.size(), form.value_bytes});
    to = protocol::write_text(to, protocol::kCrLf);
  }
  room -= static_cast<std::size_t>(to - out);
  out = to;
  at = next;
  bytes_left = bytes;
}

}  // namespace mxkv::server
