// Replies to requests for one key in memcached's binary protocol.
#pragma once

#include <string_view>

#include "protocol/binary_reply.hpp"
#include "protocol/reply_codes.hpp"
#include "server/reply/connection_table.hpp"
#include "server/store/point/point_outcome.hpp"

namespace mxkv::server {

// Each writes a reply; the ticket stays open. Home worker only.

/// For a request that may change its item. Writes nothing if a quiet request succeeded.
void write_binary_reply(ReplyQueue& queue, std::uint32_t ticket, const PointOutcome& outcome,
                        runtime::Worker& worker);
/// For a get that found `item`, which must be safe to read.
void write_binary_value(ReplyQueue& queue, std::uint32_t ticket, protocol::BinaryForm form, const Item& item,
                        runtime::Worker& worker);
/// For a get that found nothing. Writes nothing if it is quiet.
void write_binary_miss(ReplyQueue& queue, std::uint32_t ticket, protocol::BinaryForm form,
                       std::string_view key);
void write_binary_error(ReplyQueue& queue, std::uint32_t ticket, protocol::BinaryForm form,
                        protocol::binary_status status);
/// For a success with no data but perhaps a cas. Writes nothing if the request is quiet.
void write_binary_success(ReplyQueue& queue, std::uint32_t ticket, protocol::BinaryForm form,
                          std::uint64_t cas = 0);

/// Writes and closes the whole reply of a request without a key, in the protocol of its form.
void answer_code(ConnectionTable& replies, const ReplyAddress& address, Seen seen, protocol::BinaryForm form,
                 protocol::reply_code code);

}  // namespace mxkv::server
