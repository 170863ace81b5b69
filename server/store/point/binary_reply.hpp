// What a request for one key answers in memcached's binary protocol.
#pragma once

#include <string_view>

#include "protocol/binary_reply.hpp"
#include "server/reply/connection_table.hpp"
#include "server/store/point/point_outcome.hpp"

namespace mxkv::server {

// Each writes a reply; the ticket stays open. Home worker only.

/// Of a request that may change its item. Nothing, where all went well and the request was quiet.
void write_binary_reply(ReplyQueue& queue, std::uint32_t ticket, const PointOutcome& outcome,
                        runtime::Worker& worker);
/// Of a get that found `item`, which must be safe to read.
void write_binary_value(ReplyQueue& queue, std::uint32_t ticket, protocol::BinaryForm form, const Item& item,
                        runtime::Worker& worker);
/// Of a get that found nothing; nothing of a quiet one.
void write_binary_miss(ReplyQueue& queue, std::uint32_t ticket, protocol::BinaryForm form,
                       std::string_view key);
void write_binary_error(ReplyQueue& queue, std::uint32_t ticket, protocol::BinaryForm form,
                        protocol::binary_status status);
/// Of what succeeded without anything to tell but a unique; nothing of what is quiet.
void write_binary_success(ReplyQueue& queue, std::uint32_t ticket, protocol::BinaryForm form,
                          std::uint64_t unique = 0);
/// What memcached calls it when a value was sent and something else was there than was asked for.
[[nodiscard]] protocol::binary_status binary_not_stored(protocol::opcode code) noexcept;

/// Writes and closes the whole reply of a request that is for no key.
void answer_binary(ConnectionTable& replies, const ReplyAddress& address, protocol::BinaryForm form,
                   protocol::binary_status status);

}  // namespace mxkv::server
