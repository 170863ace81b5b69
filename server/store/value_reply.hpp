// How an item goes to a client: small values are copied into the reply, large ones sent from their chunks.
#pragma once

#include "server/reply/reply_queue.hpp"
#include "server/store/item.hpp"

namespace mxkv::server {

/// What a retrieval prints.
struct ReplyForm {
  bool with_cas = false;
  bool end_line = false;  ///< END follows: a retrieval of one key is one reply
};

/// Writes VALUE line, data and, if asked for, END. The item must be safe to read; the ticket stays open.
void write_value(ReplyQueue& queue, std::uint32_t ticket, const Item& item, ReplyForm form,
                 runtime::Worker& worker);
/// Writes what a miss answers: END or nothing.
void write_miss(ReplyQueue& queue, std::uint32_t ticket, ReplyForm form);
/// Writes VALUE line and data under another name, for keys that go out encoded.
void write_value_as(ReplyQueue& queue, std::uint32_t ticket, std::string_view key, const Item& item,
                    ReplyForm form, runtime::Worker& worker);

}  // namespace mxkv::server
