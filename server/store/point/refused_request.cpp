#include "server/store/point/refused_request.hpp"

#include "server/reply/connection_table.hpp"
#include "server/store/core/worker_context.hpp"
#include "server/store/item/value_reply.hpp"
#include "server/store/point/binary_reply.hpp"

namespace mxkv::server {

std::string refusal_text(const char* reason) {
  return std::string{"SERVER_ERROR journal: "} + reason + "\r\n";
}

void refuse_point(const protocol::PointRequest& request, Item* sent, const ReplyAddress& address,
                  CommitSeq seq, runtime::Worker& worker) {
  auto& context = worker.local<WorkerContext>();
  if (sent != nullptr) {
    Item::destroy(worker, sent);
  }
  if (ReplyQueue* const queue = context.replies->find(address, Seen::nothing())) {
    if (request.is_binary()) {
      write_binary_error(*queue, address.ticket, request.flags->binary, protocol::binary_status::refused);
    } else if (protocol::is_retrieval(request.op) && !request.end_line) {
      // Among the values of several keys an error would look like the end of the reply.
      write_miss(*queue, address.ticket, {request.op == protocol::verb::gats, request.end_line});
    } else {
      queue->append(address.ticket, refusal_text(context.refusal));
    }
    queue->close(address.ticket);
  }
  if (request.terms.ordered) {
    context.replies->finished_write(address, seq);
  } else {
    context.replies->finished(address);
  }
}

}  // namespace mxkv::server
