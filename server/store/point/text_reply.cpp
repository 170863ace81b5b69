#include "server/store/point/text_reply.hpp"

#include "server/store/item/value_reply.hpp"

namespace mxkv::server::detail {

void write_item_or_number(ReplyQueue& queue, std::uint32_t ticket, const PointOutcome& outcome,
                          runtime::Worker& worker) {
  if (outcome.result == point_result::number) {
    char* out = queue.reserve(ticket, protocol::kMaxDigits + protocol::kCrLf.size());
    out = protocol::write_number(out, outcome.number);
    queue.commit(ticket, protocol::write_text(out, protocol::kCrLf));
    return;
  }
  const protocol::PointRequest& request = outcome.request;
  MXKV_DCHECK(protocol::is_retrieval(request.op), "an item goes to those that ask for it");
  const ReplyForm form{request.op == protocol::verb::gats, request.end_line};
  if (outcome.result == point_result::value) {
    write_value(queue, ticket, outcome.shown->key(), Item::View{*outcome.shown}, form, worker);
  } else if (outcome.result == point_result::not_found || !form.end_line) {
    write_miss(queue, ticket, form);  // among the values of several keys an error would look like the end
  } else {
    queue.append(ticket, text_of(outcome.result));
  }
}

}  // namespace mxkv::server::detail
