// Requests of the binary protocol for another node: they go there as meta commands, as all that is sent on goes as
// text, and what is answered becomes a packet again.
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

/// Appends a request for one key that came by the binary protocol. `value`: of one that stores; it is taken, and its
/// memory given back. Thread-safety: owner worker only.
void write_binary_request(std::string& out, const protocol::PointRequest& request, ItemBuilder* value,
                          runtime::Worker& worker);

/// Writes what the owner answers to such a request, by its meta reply; or an error, by a line that says it. The ticket
/// stays open. `key`: the request's, where its answer tells it. Thread-safety: owner worker only.
void write_binary_answer(ReplyQueue& queue, std::uint32_t ticket, protocol::BinaryForm form,
                         std::string_view key, std::string_view reply);

}  // namespace mxkv::server
