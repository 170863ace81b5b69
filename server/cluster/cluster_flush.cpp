// ClusterStore's function: flush_all. It deletes all keys of each shard, at the shard's owner. The deletes
// are not one moment: an item that a client stores meanwhile may stay or be deleted.
#include <array>
#include <memory>
#include <string>
#include <utility>

#include "protocol/reply_codes.hpp"
#include "runtime/base/assert.hpp"
#include "server/cluster/cluster_store.hpp"
#include "server/cluster/reply_words.hpp"
#include "server/store/item/expiry.hpp"
#include "server/store/point/binary_reply.hpp"
#include "server/store/store.hpp"

namespace mxkv::server {

namespace {

constexpr std::string_view kNoDelay = "SERVER_ERROR flush_all with a delay is not possible in a cluster\r\n";

/// A running flush: it ends when the last shard is done.
struct Flush {
  RequestForwarder& forwarder;
  ConnectionTable& replies;
  ReplyAddress address;
  protocol::BinaryForm form;
  std::uint32_t left = 0;  ///< shards
  std::string failure{};
};

void answer(ConnectionTable& replies, const ReplyAddress& address, protocol::BinaryForm form,
            std::string_view failure) {
  if (failure.empty()) {
    answer_code(replies, address, Seen::nothing(), form, protocol::reply_code::done);
  } else if (form.given()) {
    answer_code(replies, address, Seen::nothing(), form, protocol::reply_code::refused);
  } else {
    replies.reply(address, Seen::nothing(), failure);
  }
  replies.finished(address);
}

/// Deletes one page of a shard, and then the next page.
void delete_page(const std::shared_ptr<Flush>& flush, std::uint32_t shard, const std::string& range,
                 std::string_view cursor) {
  std::unique_ptr<ForwardedRequest> sent = flush->forwarder.take();
  sent->text = range;
  sent->text += cursor;
  sent->text += protocol::kCrLf;
  sent->shard = shard;
  sent->shape = reply_shape::until_noop;  // a delete may be sent twice
  sent->then = [flush, shard, range](std::string_view reply) {
    if (protocol::read_reply_code(reply) == protocol::reply_code::done) {
      if (const std::size_t cursor_at = reply.find(" G"); cursor_at != std::string_view::npos) {
        delete_page(flush, shard, range, reply.substr(cursor_at, reply.find('\r') - cursor_at));
        return;
      }
    } else if (flush->failure.empty()) {
      flush->failure = reply;
    }
    MXKV_ASSERT(flush->left > 0, "each shard is flushed once");
    if (--flush->left == 0) {
      answer(flush->replies, flush->address, flush->form, flush->failure);
    }
  };
  flush->forwarder.forward(std::move(sent));
}

}  // namespace

bool ClusterStore::flush_all(runtime::Worker& worker, std::int64_t delay_s, const ReplyAddress& address,
                             protocol::BinaryForm form) {
  ConnectionTable& replies = replies_of(worker);
  if (flush_time_us(delay_s, Moment{worker}) != 0) {
    answer(replies, address, form, kNoDelay);
    return false;
  }
  const auto flush =
      std::make_shared<Flush>(Flush{forwarder(worker), replies, address, form, routes_.shards()});
  for (std::uint32_t shard = 0; shard < routes_.shards(); ++shard) {
    const std::string_view begin = routes_.begin_of(shard);
    const std::string_view end = routes_.end_of(shard);
    std::string range = "mx " + base64_of(begin.empty() ? std::string_view{"\0", 1} : begin) + " b";
    if (!end.empty()) {
      range += " H" + base64_of(end);
    }
    delete_page(flush, shard, range, {});
  }
  return true;
}

}  // namespace mxkv::server
