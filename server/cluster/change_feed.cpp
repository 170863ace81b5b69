#include "server/cluster/change_feed.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include "protocol/reply.hpp"
#include "runtime/base/assert.hpp"
#include "runtime/base/readable.hpp"

namespace mxkv::server {
namespace {

using FeedJson = nlohmann::ordered_json;

void add_text(FeedJson& json, const std::string& name, std::string_view text) {
  FeedJson plain = text;
  try {
    static_cast<void>(plain.dump());
    json[name] = std::move(plain);
  } catch (const FeedJson::exception&) {  // no UTF-8
    std::string encoded((text.size() + 2) / 3 * 4, '\0');
    protocol::write_base64(encoded.data(), text);
    json[name + "_base64"] = std::move(encoded);
  }
}

void add_bounds(FeedJson& json, const RecordBounds& bounds) {
  add_text(json, bounds.from_is_open ? "behind" : "from", bounds.from);
  if (!bounds.has_no_end) {
    add_text(json, bounds.to_is_open ? "before" : "to", bounds.to);
  }
}

}  // namespace

// Apart from claims and snapshots, only a term's owner writes in it. The first messages seen may be from an
// owner that had been ousted before.
bool ChangeFeed::proves_another_term(const Message& message) const noexcept {
  return message.kind != message_kind::open && message.kind != message_kind::snapshot &&
         (message.term > state_.term() || (message.term == state_.term() && message.node != state_.owner()));
}

void ChangeFeed::message(LogPosition position, std::string_view bytes) {
  ++messages_;
  const ParsedMessage parsed = parse_message(bytes, scope_);
  if (parsed.flaw != message_flaw::none) {
    ++discarded_;
    return;
  }
  const Message& message = parsed.message;
  if (proves_another_term(message)) {
    if (message.part != 0) {
      return;  // part of a group whose beginning was not seen
    }
    parts_.clear();
    state_ = ShardState::restored(message.term, message.node, message.sequence, 0, 0, 0);
  }
  switch (state_.take(message)) {
    case message_effect::opens:
      parts_.clear();
      break;
    case message_effect::counts:
      if (message.kind == message_kind::group) {
        MXKV_ASSERT(message.part != 0 || parts_.empty(), "a group begins when the one before is complete");
        parts_ += message.body;
        if (message.part + 1 == message.parts) {
          hand_out(position, message.term, std::exchange(parts_, {}));
        }
      }
      break;
    case message_effect::yields:
    case message_effect::repeats:
    case message_effect::none:
      break;
  }
}

void ChangeFeed::hand_out(LogPosition position, std::uint64_t term, std::string_view body) {
  // An epoch's records stand worker by worker. They are handed out in the order in which the changes
  // happened.
  std::vector<BodyEntry> entries;
  RecordBodyReader reader{body};
  while (const std::optional<BodyEntry> entry = reader.next()) {
    entries.push_back(*entry);
  }
  damaged_ += reader.wrong() != nullptr ? 1 : 0;
  const auto order_of = [](const BodyEntry& entry) {
    return std::visit([](const auto& record) { return record.order; }, entry.record);
  };
  std::ranges::sort(entries, {}, order_of);
  for (const BodyEntry& entry : entries) {
    take_({.shard = scope_.shard, .position = position, .term = term, .entry = entry});
  }
}

std::string change_json(const FedChange& change) {
  FeedJson json{{"shard", change.shard}, {"position", change.position}, {"term", change.term}};
  std::visit(
      [&](const auto& record) {
        using R = std::remove_cvref_t<decltype(record)>;
        json["order"] = record.order;
        if constexpr (std::is_same_v<R, PutRecord>) {
          json["change"] = "put";
          add_text(json, "key", record.key);
          add_text(json, "value", record.apart_bytes != 0 ? change.entry.apart : record.value);
          json["flags"] = record.flags;
          if (record.expiry != 0) {
            json["expires"] = record.expiry;
          }
        } else if constexpr (std::is_same_v<R, GoneRecord>) {
          json["change"] = record.reason == gone_reason::evicted ? "evicted" : "deleted";
          add_text(json, "key", record.key);
        } else if constexpr (std::is_same_v<R, TouchRecord>) {
          json["change"] = "touched";
          add_text(json, "key", record.key);
          json["expires"] = record.expiry;
        } else if constexpr (std::is_same_v<R, RangeGoneRecord>) {
          json["change"] = "range_deleted";
          add_bounds(json, record.bounds);
        } else if constexpr (std::is_same_v<R, RangeTouchRecord>) {
          json["change"] = "range_touched";
          add_bounds(json, record.bounds);
          json["expires"] = record.expiry;
        } else {
          json["change"] = "flushed";
        }
      },
      change.entry.record);
  const std::string text = json.dump();
  return runtime::is_readable(text) ? text : json.dump(-1, ' ', true);  // keys cannot control a terminal
}

}  // namespace mxkv::server
