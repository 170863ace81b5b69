// Requests that are refused while the disk cannot be written.
#pragma once

#include <string>

#include "protocol/point_request.hpp"
#include "runtime/scheduler/worker.hpp"
#include "server/reply/reply_address.hpp"
#include "server/store/item/item.hpp"

namespace mxkv::server {

/// The error line of a refused write. `reason`: WorkerContext::refusal.
[[nodiscard]] std::string refusal_text(const char* reason);
/// Answers a request for one key that is refused, and frees `sent`, its value or null.
void refuse_point(const protocol::PointRequest& request, Item* sent, const ReplyAddress& address,
                  CommitSeq seq, runtime::Worker& worker);

}  // namespace mxkv::server
