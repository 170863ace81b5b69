// Forwards requests of the binary protocol. All forwarded requests are text: such a request becomes a meta
// command, and the owner's reply becomes a packet again.
#pragma once

#include <string>
#include <string_view>

#include "protocol/binary_form.hpp"
#include "protocol/point_request.hpp"
#include "server/reply/reply_queue.hpp"

namespace mxkv::runtime {
class Worker;
}

namespace mxkv::server {

class ItemBuilder;

/// Appends a binary request for one key as text. `value`: the value of a storing request; the function takes
/// it and frees its memory. Thread-safety: owner worker only.
void write_binary_request(std::string& out, const protocol::PointRequest& request, ItemBuilder* value,
                          runtime::Worker& worker);

/// Writes the packet for the owner's meta reply `reply`, or an error packet if `reply` is an error line. The
/// ticket stays open. `key`: the request's key, for replies that contain it. Thread-safety: owner worker
/// only.
void write_binary_answer(ReplyQueue& queue, std::uint32_t ticket, protocol::BinaryForm form,
                         std::string_view key, std::string_view reply);

}  // namespace mxkv::server
