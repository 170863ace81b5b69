// Replies of classic commands for one key, and errors, which have the same words for meta commands.
#pragma once

#include <array>

#include "protocol/reply.hpp"
#include "server/reply/reply_queue.hpp"
#include "server/store/point/point_outcome.hpp"

namespace mxkv::server {

namespace detail {

/// It has no default: a result without a text would be written as a number or an item.
constexpr std::string_view told(point_result result) noexcept {
  switch (result) {
    case point_result::stored:
      return protocol::kStored;
    case point_result::not_stored:
      return protocol::kNotStored;
    case point_result::exists:
      return protocol::kExists;
    case point_result::not_found:
      return protocol::kNotFound;
    case point_result::deleted:
      return protocol::kDeleted;
    case point_result::touched:
      return protocol::kTouched;
    case point_result::non_numeric:
      return protocol::kNonNumeric;
    case point_result::no_memory:
      return protocol::kOutOfMemory;
    case point_result::too_large:
      return protocol::kTooLarge;
    case point_result::number:
    case point_result::value:
      break;
  }
  return {};
}

inline constexpr std::size_t kPointResults = static_cast<std::size_t>(point_result::too_large) + 1;

/// The texts by result; empty for a number and an item, which are written as such.
inline constexpr std::array<std::string_view, kPointResults> kResultTexts = [] {
  std::array<std::string_view, kPointResults> texts{};
  for (std::size_t n = 0; n < kPointResults; ++n) {
    texts[n] = told(static_cast<point_result>(n));
  }
  return texts;
}();

/// For gat, gats and results that are a number.
void write_item_or_number(ReplyQueue& queue, std::uint32_t ticket, const PointOutcome& outcome,
                          runtime::Worker& worker);

}  // namespace detail

/// The text of a result; empty for a number or an item.
[[nodiscard]] inline std::string_view text_of(point_result result) noexcept {
  return detail::kResultTexts[static_cast<std::size_t>(result)];
}

/// Writes the text of a result; the ticket stays open. Home worker only. A constant result needs no look-up
/// of its text.
[[gnu::always_inline]] inline void write_result(ReplyQueue& queue, std::uint32_t ticket,
                                                point_result result) {
  const std::string_view text = text_of(result);
  char* const out = queue.reserve(ticket, text.size());
  queue.commit(ticket, protocol::write_text(out, text));
}

/// Writes the reply; the ticket stays open. Home worker only.
[[gnu::always_inline]] inline void write_text_reply(ReplyQueue& queue, std::uint32_t ticket,
                                                    const PointOutcome& outcome, runtime::Worker& worker) {
  const std::string_view text = text_of(outcome.result);
  if (text.empty() || protocol::is_retrieval(outcome.request.op)) [[unlikely]] {
    detail::write_item_or_number(queue, ticket, outcome, worker);
    return;
  }
  write_result(queue, ticket, outcome.result);
}

}  // namespace mxkv::server
