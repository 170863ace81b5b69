// A prefix whose keys lie in several shards has one line:
//
//     shard 0                | shard 1         | shard 2
//     a:1 a:2 user:1 user:2  | user:5 user:7   | user:8 zoo:1
//     page: a: 2, user: 2    | rest of user: 2 | rest of user: 1, page behind it: zoo: 1
//
// Where a shard begins within the last prefix, the rest of this prefix is counted by itself and added to its
// line. The next page begins behind the prefix.
#include "server/cluster/cluster_prefixes.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "protocol/cursor.hpp"
#include "protocol/reply.hpp"
#include "protocol/reply_codes.hpp"
#include "protocol/request_writer.hpp"
#include "runtime/base/assert.hpp"
#include "server/cluster/key_bounds.hpp"
#include "server/cluster/reply_words.hpp"

namespace mxkv::server {

namespace {

constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();
/// A page with as many bytes asks no further shard. Each shard's own page is limited by its owner.
constexpr std::size_t kPageBytes = std::size_t{1} << 20U;

/// The line of a prefix: HD k<prefix> [b] [A<items> B<bytes> [~]]
struct PrefixLine {
  std::string name;   ///< empty: there is no line
  std::string shown;  ///< the words of its name
  std::uint64_t items = 0;
  std::uint64_t bytes = 0;
  bool estimated = false;

  [[nodiscard]] static PrefixLine of(std::string_view line) {
    PrefixLine read;
    bool base64 = false;
    each_word(line, [&](std::string_view word) {
      if (word.starts_with('k')) {
        read.name = word.substr(1);
      } else if (word == "b") {
        base64 = true;
      } else if (word.starts_with('A')) {
        read.items = number_in(word.substr(1));
      } else if (word.starts_with('B')) {
        read.bytes = number_in(word.substr(1));
      } else if (word == "~") {
        read.estimated = true;
      }
    });
    read.shown = " k" + read.name + (base64 ? " b" : "");
    if (base64) {
      std::string decoded(read.name.size(), '\0');
      std::size_t length = 0;
      decoded.resize(protocol::read_base64(read.name, decoded.data(), length) ? length : 0);
      read.name = std::move(decoded);
    }
    return read;
  }
};

/// The last line of a page: EN A<prefixes> K<items> B<bytes> [G<cursor>]
struct PageEnd {
  std::uint64_t single_items = 0;
  std::uint64_t single_bytes = 0;
  std::string cursor;

  [[nodiscard]] static PageEnd of(std::string_view line) {
    PageEnd read;
    each_word(line, [&](std::string_view word) {
      if (word.starts_with('K')) {
        read.single_items = number_in(word.substr(1));
      } else if (word.starts_with('B')) {
        read.single_bytes = number_in(word.substr(1));
      } else if (word.starts_with('G')) {
        read.cursor = word.substr(1);
      }
    });
    return read;
  }
};

/// A running count; the request that is under way keeps it. It has copies of the client's keys.
class PrefixCount : public std::enable_shared_from_this<PrefixCount> {
 public:
  PrefixCount(RequestForwarder& forwarder, ConnectionTable& replies, const Routes& routes,
              const runtime::Clock& clock, const protocol::Request& request, const ReplyAddress& address)
      : forwarder_(forwarder),
        replies_(replies),
        routes_(routes),
        clock_(clock),
        address_(address),
        low_(request.range.low.key),
        high_(request.range.high.key),
        prefix_(request.range.prefix),
        delimiter_(request.range.delimiter),
        range_(request.range),
        begun_ns_(clock.monotonic_ns()) {
    range_.low.key = low_;
    range_.high.key = high_;
    range_.prefix = prefix_;
    range_.delimiter = delimiter_;
    range_.reverse = false;
    if (request.meta.wants().find('O') != std::string_view::npos) {
      opaque_ = std::string{" O"}.append(request.meta.opaque());
    }
    KeyRoom room;
    if (range_.low.unbounded) {
      from_ = range_.by_prefix ? prefix_ : std::string{};
    } else {
      from_ = range_.low.inclusive ? std::string_view{low_} : behind_key(low_, room);
    }
  }

  void begin() { count_page(); }

 private:
  /// Whether the range has no key from `key` on.
  [[nodiscard]] bool is_beyond(std::string_view key) const noexcept {
    const protocol::RangeBound& high = range_.high;
    return (range_.by_prefix && !key.starts_with(prefix_)) ||
           (!high.unbounded && (high.inclusive ? key > high.key : key >= high.key));
  }

  /// Whether a limit ends the page: prefixes, bytes, or the client's time.
  [[nodiscard]] bool is_full() const noexcept {
    const bool late =
        range_.time_limit_us != 0 && clock_.monotonic_ns() - begun_ns_ > range_.time_limit_us * 1000;
    return prefixes_ >= range_.limit || text_.size() >= kPageBytes || (late && prefixes_ > 0);
  }

  // All before `from` is counted; empty: that is everything.
  void go_on(std::string_view from) {
    from_ = from;
    if (from.empty() || is_beyond(from)) {
      end_page(false);
    } else if (is_full()) {
      end_page(true);
    } else {
      count_page();
    }
  }

  /// Sends the count of a range to the owner of the shard with `from_`. `then` gets this and the reply.
  void ask_owner(const protocol::RangeRequest& range, void (PrefixCount::*then)(std::string_view reply)) {
    protocol::Request request;
    request.op = protocol::verb::meta_count;
    request.range = range;
    std::unique_ptr<ForwardedRequest> sent = forwarder_.take();
    sent->shard = routes_.shard_of(from_);
    sent->shape = reply_shape::until_noop;
    protocol::write_range_line(sent->text, request);
    sent->then = [count = shared_from_this(), then](std::string_view reply) { ((*count).*then)(reply); };
    forwarder_.forward(std::move(sent));
  }

  // A delimiter is looked for behind the range's prefix, so the part of such a range keeps the prefix: its owner
  // gets it with a cursor, and ends where its shard ends (RangeRequest::cut).
  void count_page() {
    KeyRoom before;
    KeyRoom room;
    protocol::RangeRequest part = range_;
    part.limit = range_.limit == kUnlimited ? kUnlimited : range_.limit - prefixes_;
    if (!part.by_prefix || prefix_.empty()) {
      part.low = {.key = from_, .unbounded = from_.empty(), .inclusive = true};
      part = part_in_shard(part, routes_, routes_.shard_of(from_), room);
    } else if (from_ != prefix_) {
      part.low = {.key = key_before(from_, before), .unbounded = false, .inclusive = false};
    }
    ask_owner(part, &PrefixCount::take_page);
  }

  void take_page(std::string_view reply) {
    while (protocol::read_reply_code(reply) == protocol::reply_code::done) {
      const std::size_t end = std::min(reply.find(protocol::kCrLf), reply.size() - protocol::kCrLf.size());
      write_last();
      last_ = PrefixLine::of(reply.substr(0, end));
      ++prefixes_;
      reply.remove_prefix(end + protocol::kCrLf.size());
    }
    if (!reply.starts_with("EN ")) {
      finish(reply);
      return;
    }
    const PageEnd end = PageEnd::of(reply);
    single_items_ += end.single_items;
    single_bytes_ += end.single_bytes;
    protocol::RangeRequest rest;
    std::array<char, protocol::kMaxCursorBytes> scratch;
    if (!end.cursor.empty() && protocol::read_cursor(end.cursor, rest, scratch.data())) {
      KeyRoom room;
      from_ = behind_key(rest.low.key, room);
      end_page(!from_.empty());
    } else {
      end_shard();
    }
  }

  // The range has no further key in the shard.
  void end_shard() {
    const std::string_view next = routes_.end_of(routes_.shard_of(from_));
    if (!last_.name.empty() && next.starts_with(last_.name) && !is_beyond(next)) {
      from_ = next;
      count_rest();
    } else {
      go_on(next);
    }
  }

  // A shard begins at `from_`, within the last prefix.
  void count_rest() {
    KeyRoom behind;
    const std::string_view end = behind_prefix(last_.name, behind);
    if (range_.names_only) {
      go_on(end);
      return;
    }
    protocol::RangeRequest rest;
    rest.low = {.key = from_, .unbounded = false, .inclusive = true};
    rest.high = range_.high;
    if (!end.empty() && (rest.high.unbounded || rest.high.key >= end)) {
      rest.high = {.key = end, .unbounded = false, .inclusive = false};
    }
    rest.exact = true;
    rest.limit = kUnlimited;
    KeyRoom room;
    ask_owner(part_in_shard(rest, routes_, routes_.shard_of(from_), room), &PrefixCount::take_rest);
  }

  void take_rest(std::string_view reply) {
    if (protocol::read_reply_code(reply) != protocol::reply_code::done) {
      finish(reply);
      return;
    }
    each_word(reply, [this](std::string_view word) {
      if (word.starts_with('A')) {
        last_.items += number_in(word.substr(1));
      } else if (word.starts_with('B')) {
        last_.bytes += number_in(word.substr(1));
      }
    });
    const std::string_view next = routes_.end_of(routes_.shard_of(from_));
    KeyRoom room;
    if (next.starts_with(last_.name)) {
      end_shard();
    } else {
      go_on(behind_prefix(last_.name, room));
    }
  }

  void write_last() {
    if (last_.name.empty()) {
      return;
    }
    text_ += "HD" + last_.shown;
    if (!range_.names_only) {
      text_ += " A" + std::to_string(last_.items) + " B" + std::to_string(last_.bytes);
      text_ += last_.estimated ? " ~" : "";
    }
    text_ += opaque_ + "\r\n";
    last_ = {};
  }

  /// `more`: the cursor continues at `from_`.
  void end_page(bool more) {
    write_last();
    text_ += "EN A" + std::to_string(prefixes_) + " K" + std::to_string(single_items_) + " B" +
             std::to_string(single_bytes_);
    if (more) {
      KeyRoom room;
      std::array<char, protocol::kMaxCursorBytes> cursor;
      const char* const end = protocol::write_cursor(cursor.data(), {.last_key = key_before(from_, room),
                                                                     .far = range_.high,
                                                                     .prefix = prefix_,
                                                                     .by_prefix = range_.by_prefix,
                                                                     .reverse = false});
      text_.append(" G").append(cursor.data(), static_cast<std::size_t>(end - cursor.data()));
    }
    text_ += opaque_ + "\r\n";
    finish(text_);
  }

  void finish(std::string_view text) {
    replies_.reply(address_, Seen::nothing(), text);
    replies_.finished(address_);
  }

  RequestForwarder& forwarder_;
  ConnectionTable& replies_;
  const Routes& routes_;
  const runtime::Clock& clock_;
  ReplyAddress address_;
  std::string opaque_;  ///< as it appears at the end of each line
  std::string low_;
  std::string high_;
  std::string prefix_;
  std::string delimiter_;
  protocol::RangeRequest range_;  ///< refers to the texts above
  std::uint64_t begun_ns_;
  std::string from_;   ///< the next key to count
  PrefixLine last_{};  ///< the last prefix, whose line is not written yet
  std::string text_;   ///< the reply
  std::uint64_t prefixes_ = 0;
  std::uint64_t single_items_ = 0;  ///< items whose keys have no delimiter
  std::uint64_t single_bytes_ = 0;
};

}  // namespace

void count_prefixes(RequestForwarder& forwarder, ConnectionTable& replies, const Routes& routes,
                    const runtime::Clock& clock, const protocol::Request& request,
                    const ReplyAddress& address) {
  MXKV_ASSERT(!request.range.delimiter.empty() && !request.range.locked, "mc with D, which excludes X");
  std::make_shared<PrefixCount>(forwarder, replies, routes, clock, request, address)->begin();
}

}  // namespace mxkv::server
