// ClusterStore's functions: counts and deletes of ranges across several shards, without a lock. The asked
// node sends each part to its shard's owner, and adds up. So the result does not depend on which shards lie
// on one node.
//
// Counts ask all shards at once. Deletes go from shard to shard, like pages: the client's limit holds for all
// shards together, and a cursor leads over the rest of the whole range.
#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "protocol/cursor.hpp"
#include "protocol/reply_codes.hpp"
#include "protocol/request_writer.hpp"
#include "runtime/base/assert.hpp"
#include "server/cluster/cluster_store.hpp"
#include "server/cluster/key_bounds.hpp"
#include "server/cluster/refusal.hpp"
#include "server/cluster/reply_words.hpp"
#include "server/store/store.hpp"

namespace mxkv::server {

namespace {

constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

/// Adds numbers of any length, in decimal digits.
void add_decimal(std::string& sum, std::string_view more) {
  std::string added;
  for (std::size_t i = 0, carry = 0; i < std::max(sum.size(), more.size()) || carry != 0; ++i) {
    const auto digit_of = [i](std::string_view text) {
      return i < text.size() ? static_cast<std::size_t>(text[text.size() - 1 - i] - '0') : 0;
    };
    const std::size_t digits = digit_of(sum) + digit_of(more) + carry;
    added.insert(added.begin(), static_cast<char>('0' + digits % 10));
    carry = digits / 10;
  }
  sum = std::move(added);
}

/// The sum of the mc replies for the parts of a range.
class CountSum {
 public:
  void add(std::string_view reply) {
    std::uint64_t items = 0;
    each_word(reply, [&](std::string_view word) {
      if (word.starts_with("Ms")) {
        add_decimal(sum_, word.substr(2));
      } else if (word.starts_with("Mn")) {
        least_ = std::min(least_, number_in(word.substr(2)));
      } else if (word.starts_with("Mx")) {
        greatest_ = std::max(greatest_, number_in(word.substr(2)));
      } else if (word.starts_with('A')) {
        items_ += items = number_in(word.substr(1));
      } else if (word.starts_with('B')) {
        bytes_ += number_in(word.substr(1));
      } else if (word.starts_with('N')) {
        numbers_ += number_in(word.substr(1));
      } else if (word.starts_with('~')) {
        estimated_ = true;
        off_ += number_in(word.substr(1)) * items;  // at most this share of the part's items
      }
    });
  }
  [[nodiscard]] std::string text(const protocol::NumericModes& numeric) const {
    std::string text = "HD A" + std::to_string(items_) + " B" + std::to_string(bytes_);
    if (numeric.any()) {
      text += " N" + std::to_string(numbers_);
      text += numeric.sum ? " Ms" + sum_ : "";
      text += numeric.least && numbers_ > 0 ? " Mn" + std::to_string(least_) : "";
      text += numeric.greatest && numbers_ > 0 ? " Mx" + std::to_string(greatest_) : "";
    }
    if (estimated_) {
      text += " ~" + std::to_string(items_ == 0 ? 0 : (off_ + items_ - 1) / items_);
    }
    return text;
  }

 private:
  std::uint64_t items_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t numbers_ = 0;
  std::string sum_ = "0";
  std::uint64_t least_ = kNoLimit;
  std::uint64_t greatest_ = 0;
  std::uint64_t off_ = 0;  ///< items times percent
  bool estimated_ = false;
};

/// A running operation; it lives until its last part is answered. It has copies of the request's keys.
struct Sweep {
  RequestForwarder& forwarder;
  ConnectionTable& replies;
  const Routes& routes;
  ReplyAddress address;
  std::string opaque;  ///< as it appears at the end of the reply
  bool quiet = false;
  protocol::NumericModes numeric{};
  std::vector<std::string> lines{};  ///< by shard from `first` on; lines of deletes lack their limit
  std::uint32_t first = 0;
  // For counts.
  CountSum sum{};
  std::uint32_t left = 0;  ///< parts without a reply
  std::string failure{};
  // For deletes.
  std::string prefix{};
  bool by_prefix = false;
  std::string high{};
  protocol::RangeBound far{};  ///< its key is `high`
  std::uint64_t limit = kNoLimit;
  std::uint64_t removed = 0;

  void answer(std::string text) const {
    text += text.empty() ? "" : opaque + "\r\n";
    replies.reply(address, Seen::nothing(), text);
    replies.finished(address);
  }
  void fail(std::string_view text) const {
    replies.reply(address, Seen::nothing(), text);
    replies.finished(address);
  }
};

/// `last`: the cursor continues behind that key; empty: all was deleted.
void end_delete(const Sweep& sweep, std::string_view last) {
  std::string text = "HD A" + std::to_string(sweep.removed);
  if (!last.empty()) {
    std::array<char, protocol::kMaxCursorBytes> cursor;
    protocol::RangeBound far = sweep.far;
    far.key = sweep.high;
    const char* const end = protocol::write_cursor(cursor.data(), {.last_key = last,
                                                                   .far = far,
                                                                   .prefix = sweep.prefix,
                                                                   .by_prefix = sweep.by_prefix,
                                                                   .reverse = false});
    text.append(" G").append(cursor.data(), static_cast<std::size_t>(end - cursor.data()));
  } else if (sweep.quiet) {
    text.clear();
  }
  sweep.answer(std::move(text));
}

void delete_part(const std::shared_ptr<Sweep>& sweep, std::uint32_t part) {
  MXKV_ASSERT(part < sweep->lines.size(), "a delete ends behind its last part");
  std::unique_ptr<ForwardedRequest> sent = sweep->forwarder.take();
  sent->shard = sweep->first + part;
  sent->changes = true;
  sent->shape = reply_shape::until_noop;
  sent->text = sweep->lines[part];
  if (sweep->limit != kNoLimit) {
    sent->text += " A" + std::to_string(sweep->limit - sweep->removed);
  }
  sent->text += protocol::kCrLf;
  sent->then = [sweep, part](std::string_view reply) {
    if (protocol::read_reply_code(reply) != protocol::reply_code::done) {
      sweep->fail(reply);
      return;
    }
    std::string cursor;
    each_word(reply, [&](std::string_view word) {
      if (word.starts_with('A')) {
        sweep->removed += number_in(word.substr(1));
      } else if (word.starts_with('G')) {
        cursor = word.substr(1);
      }
    });
    protocol::RangeRequest rest;
    std::array<char, protocol::kMaxCursorBytes> scratch;
    if (!cursor.empty() && protocol::read_cursor(cursor, rest, scratch.data())) {
      end_delete(*sweep, rest.low.key);
    } else if (part + 1 == sweep->lines.size()) {
      end_delete(*sweep, {});
    } else if (sweep->removed >= sweep->limit) {
      KeyRoom room;
      end_delete(*sweep, key_before(sweep->routes.begin_of(sweep->first + part + 1), room));
    } else {
      delete_part(sweep, part + 1);
    }
  };
  sweep->forwarder.forward(std::move(sent));
}

void count_part(const std::shared_ptr<Sweep>& sweep, std::uint32_t part) {
  std::unique_ptr<ForwardedRequest> sent = sweep->forwarder.take();
  sent->shard = sweep->first + part;
  sent->shape = reply_shape::until_noop;
  sent->text = sweep->lines[part] + "\r\n";
  sent->then = [sweep](std::string_view reply) {
    if (protocol::read_reply_code(reply) == protocol::reply_code::done) {
      sweep->sum.add(reply);
    } else if (sweep->failure.empty()) {
      sweep->failure = reply;
    }
    MXKV_ASSERT(sweep->left > 0, "each part is counted once");
    if (--sweep->left != 0) {
      return;
    }
    if (sweep->failure.empty()) {
      sweep->answer(sweep->sum.text(sweep->numeric));
    } else {
      sweep->fail(sweep->failure);
    }
  };
  sweep->forwarder.forward(std::move(sent));
}

}  // namespace

void ClusterStore::sweep(runtime::Worker& worker, const protocol::Request& request, const Span& span,
                         const ReplyAddress& address) {
  const bool deletes = request.op == protocol::verb::meta_range_delete;
  const protocol::RangeRequest& range = request.range;
  const auto made = std::make_shared<Sweep>(Sweep{.forwarder = forwarder(worker),
                                                  .replies = replies_of(worker),
                                                  .routes = routes_,
                                                  .address = address,
                                                  .opaque = {},
                                                  .quiet = request.meta.quiet,
                                                  .numeric = range.numeric,
                                                  .first = span.first,
                                                  .prefix = std::string{range.prefix},
                                                  .by_prefix = range.by_prefix,
                                                  .high = std::string{range.high.key},
                                                  .far = range.high,
                                                  .limit = deletes ? range.limit : kNoLimit});
  if (request.meta.wants().find('O') != std::string_view::npos) {
    made->opaque = std::string{" O"}.append(request.meta.opaque());
  }
  protocol::Request part = request;  // its keys are the request's
  part.meta = {};
  for (std::uint32_t shard = span.first; shard <= span.last; ++shard) {
    KeyRoom room;
    part.range = part_in_shard(range, routes_, shard, room);
    part.range.limit = kNoLimit;
    std::string line;
    protocol::write_range_line(line, part);
    line.resize(line.size() - protocol::kCrLf.size());
    made->lines.push_back(std::move(line));
  }
  if (deletes) {
    delete_part(made, 0);
    return;
  }
  made->left = static_cast<std::uint32_t>(made->lines.size());
  for (std::uint32_t at = 0; at < made->lines.size(); ++at) {
    count_part(made, at);
  }
}

}  // namespace mxkv::server
