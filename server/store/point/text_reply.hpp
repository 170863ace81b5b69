// Replies of classic commands for one key, and errors, which have the same words for meta commands.
#pragma once

#include "protocol/reply_codes.hpp"
#include "server/reply/reply_queue.hpp"
#include "server/store/point/point_outcome.hpp"

namespace mxkv::server {

namespace detail {

/// For gat, gats and results that are a number.
void write_item_or_number(ReplyQueue& queue, std::uint32_t ticket, const PointOutcome& outcome,
                          runtime::Worker& worker);

}  // namespace detail

/// Writes a sentence; the ticket stays open. Home worker only.
[[gnu::always_inline]] inline void write_sentence(ReplyQueue& queue, std::uint32_t ticket,
                                                  std::string_view text) {
  char* const out = queue.reserve(ticket, text.size());
  queue.commit(ticket, protocol::write_text(out, text));
}

/// Writes the text of a result that is known here: of constant length, and not looked up.
template <point_result kResult>
[[gnu::always_inline]] inline void write_result(ReplyQueue& queue, std::uint32_t ticket) {
  constexpr std::string_view kText = protocol::text_of(kResult);
  write_sentence(queue, ticket, kText);
}

/// Writes the reply; the ticket stays open. Home worker only.
[[gnu::always_inline]] inline void write_text_reply(ReplyQueue& queue, std::uint32_t ticket,
                                                    const PointOutcome& outcome, runtime::Worker& worker) {
  const std::string_view text = protocol::text_of(outcome.result);
  if (text.empty() || protocol::is_retrieval(outcome.request.op)) [[unlikely]] {
    detail::write_item_or_number(queue, ticket, outcome, worker);
    return;
  }
  write_sentence(queue, ticket, text);
}

}  // namespace mxkv::server
