// ClusterStore's function: dumps of all keys (lru_crawler metadump and mgdump, stats cachedump) of all
// shards. A page is an mr request to the owner of the shard that the dump has reached. Its lines are written
// in the dump's form. So each key has one line, whichever node the client asks, and replicas' copies do not
// count.
#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "protocol/reply_codes.hpp"
#include "runtime/base/assert.hpp"
#include "server/cluster/cluster_store.hpp"
#include "server/cluster/key_bounds.hpp"
#include "server/cluster/reply_words.hpp"
#include "server/store/range/dump_line.hpp"
#include "server/store/store.hpp"

namespace mxkv::server {

namespace {

/// A line has about 100 bytes, and a page of a dump should have about DumpProgress::kPageBytes.
constexpr std::string_view kPageFlags = " b k s f t c l h A500\r\n";

/// One running page. The session keeps `progress` until replies.finished() ends the page.
struct DumpPage {
  ConnectionTable& replies;
  const Routes& routes;
  DumpProgress& progress;
  ReplyAddress address;
  std::uint32_t shard = 0;
  std::uint64_t now_s = 0;  ///< wall clock
};

/// Parses a line of mr: HD k<key> [b] s<bytes> f<flags> t<seconds> c<cas> l<seconds> h<0|1>. `key` gets
/// the key's bytes.
DumpedItem item_in(std::string_view line, std::uint64_t now_s, std::string& key) {
  DumpedItem item;
  each_word(line, [&](std::string_view word) {
    const std::string_view rest = word.substr(std::min<std::size_t>(word.size(), 1));
    switch (word.empty() ? ' ' : word.front()) {
      case 'k':
        key = rest;
        break;
      case 'b': {
        std::string bytes(key.size(), '\0');
        std::size_t count = 0;
        item.binary_key = protocol::read_base64(key, bytes.data(), count);
        key = bytes.substr(0, count);
        break;
      }
      case 's':
        item.value_bytes = number_in(rest);
        break;
      case 'f':
        item.flags = static_cast<std::uint32_t>(number_in(rest));
        break;
      case 't':
        item.expires = rest == "-1" ? 0 : now_s + number_in(rest);
        break;
      case 'c':
        item.cas = number_in(rest);
        break;
      case 'l':
        item.last_access = now_s - number_in(rest);
        break;
      case 'h':
        item.accessed = rest == "1";
        break;
      default:
        break;
    }
  });
  item.key = key;
  // The size of the item's block, as if its value were inline.
  const std::size_t optional = (item.flags == 0 ? sizeof item.flags : 0U) + (item.expires == 0 ? 4U : 0U);
  item.memory_bytes = Item::kMostBeforeKey - optional + key.size() + item.value_bytes;
  return item;
}

/// Writes a page's lines. False: the client is gone, or has as many lines as it asked for.
bool write_lines(const DumpPage& page, ReplyQueue& queue, std::string_view reply) {
  std::string key;
  while (protocol::read_reply_code(reply) == protocol::reply_code::done && !page.progress.full()) {
    const std::size_t end = reply.find('\r');
    const DumpedItem item = item_in(reply.substr(0, end), page.now_s, key);
    if (page.progress.form() != dump_form::cachedump || !item.binary_key) {
      char* const begin = queue.reserve(page.address.ticket, kMostDumpLineBytes);
      queue.commit(page.address.ticket, write_dump_line(begin, page.progress.form(), item));
      page.progress.count_line();
    }
    page.progress.note(key);
    reply.remove_prefix(end + protocol::kCrLf.size());
  }
  return !page.progress.full();
}

/// The last line of a page is EN A<items> [G<cursor>]; anything else there is an error.
void end_page(const DumpPage& page, std::string_view reply) {
  ReplyQueue* const queue = page.replies.find(page.address, Seen::nothing());
  bool ended = queue == nullptr;
  if (queue != nullptr) {
    const std::size_t last = reply.rfind("\r\n", reply.size() - std::min<std::size_t>(reply.size(), 3));
    const std::string_view end = reply.substr(last == std::string_view::npos ? 0 : last + 2);
    if (protocol::read_reply_code(end) != protocol::reply_code::miss) {
      queue->append(page.address.ticket, end);
      ended = true;
    } else {
      ended = !write_lines(page, *queue, reply);
      if (!ended && end.find(" G") == std::string_view::npos) {
        MXKV_ASSERT(page.shard < page.routes.shards(), "a page lies in a shard");
        ended = page.shard + 1 == page.routes.shards();
        if (!ended) {
          page.progress.go_on_at(page.routes.begin_of(page.shard + 1));
        }
      }
      if (ended) {
        queue->append(page.address.ticket, end_of_dump(page.progress.form()));
      }
    }
    queue->close(page.address.ticket);
  }
  page.progress.end_page(ended);
  page.replies.finished(page.address);
}

}  // namespace

void ClusterStore::dump(runtime::Worker& worker, DumpProgress& progress, const ReplyAddress& address) {
  if (!options_.forwards || address.connection->by_peer) {
    store_.dump(worker, progress, address);
    return;
  }
  const std::string_view from = progress.from().empty() ? std::string_view{"\0", 1} : progress.from();
  KeyRoom room;
  const std::uint32_t shard = routes_.shard_of(progress.skips_from() ? behind_key(from, room) : from);
  const auto page = std::make_shared<DumpPage>(
      DumpPage{replies_of(worker), routes_, progress, address, shard,
               static_cast<std::uint64_t>(static_cast<std::int64_t>(clock_.steady_us() / kUsPerSecond) +
                                          clock_.wall_ahead_s())});
  std::unique_ptr<ForwardedRequest> sent = forwarder(worker).take();
  sent->shard = shard;
  sent->shape = reply_shape::until_noop;
  sent->text = "mr " + base64_of(from);
  sent->text += progress.skips_from() ? " o" : "";
  if (const std::string_view end = routes_.end_of(shard); !end.empty()) {
    sent->text += " H" + base64_of(end);
  }
  sent->text += kPageFlags;
  sent->then = [page](std::string_view reply) { end_page(*page, reply); };
  forwarder(worker).forward(std::move(sent));
}

}  // namespace mxkv::server
